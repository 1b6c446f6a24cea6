package config

import (
	"flag"
	"fmt"
	"io"
	"reflect"
	"strings"
	"text/tabwriter"
)

// ServeCommand is the command that runs the server. Its help lists all settings.
const ServeCommand = "serve"

// withoutDefault says what holds for settings that [defaults] leaves open.
var withoutDefault = map[string]string{
	"database_url":  "SQLite in the data directory",
	"extension_dir": "extensions beside the binary",
	"issuers":       "none; in the YAML file only",
	"key_file":      "<data dir>/keys.json",
	"local_roots":   "<data dir>/storage",
	"results_url":   "<data dir>/results",
}

// settingKeys are the keys of [Config], in its order.
func settingKeys() []string {
	t := reflect.TypeFor[Settings]()
	var keys []string
	for i := range t.NumField() {
		if key := t.Field(i).Tag.Get("koanf"); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

func variable(key string) string { return envPrefix + strings.ToUpper(key) }

// printSettings lists every setting with what it is when nobody sets it.
func printSettings(w io.Writer) {
	fmt.Fprintln(w, "\nSettings, by environment variable; in lower case without LAKEWARDEN_ they are the keys\n"+
		"of the YAML file. README.md, \"Configuration\", says what each means.")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	values := defaults()
	for _, key := range settingKeys() {
		value, ok := values[key]
		switch {
		case ok:
		case withoutDefault[key] != "":
			value = withoutDefault[key]
		default:
			value = "none"
		}
		fmt.Fprintf(table, "  %s\t%v\n", variable(key), value)
	}
	_ = table.Flush() // of a help text
}

// flagUsage is what --help prints. The settings are those of every command; the
// server's help has them all.
func flagUsage(fs *flag.FlagSet) {
	fmt.Fprintf(fs.Output(), "Usage of lakewarden %s:\n", fs.Name())
	fs.PrintDefaults()
	if fs.Name() == ServeCommand {
		printSettings(fs.Output())
		return
	}
	fmt.Fprintf(fs.Output(), "\nEvery setting of the server counts here too: see \"lakewarden %s --help\".\n", ServeCommand)
}
