package catalog

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClientsDoNotImitateTheProduct(t *testing.T) {
	for _, name := range []string{"Lakewarden", "LAKEWARDEN CLI", "The lake-warden login", "L\u0430kew\u0430rden", "L4kew4rd3n", "lakevvarden",
		"Iakewarden", "1akewarden", "\uff2c\uff41\uff4b\uff45warden", "L\u00e1kewarden", "L a k e w a r d e n", "|akewarden",
		"LAKEWARDE\u039d", "\u0141akewarden", "Lakewar\u0111en", "\u029fakewarden", "Lakewa\u0280den", "\u01c0akewarden", "Lakewarclen"} {
		require.True(t, imitatesProduct(name), name)
	}
	for _, name := range []string{"Dashboards", "Lake", "Warden", "Lakehouse warden", "Garden lake",
		"\u041e\u0442\u0447\u0451\u0442\u044b", ""} {
		require.False(t, imitatesProduct(name), name)
		require.False(t, mixesScripts(name), name)
	}
	for _, name := range []string{"\u13deakewarden", "\ua4e1akewarden", "D\u0430shboards"} {
		require.True(t, mixesScripts(name), name)
	}
	require.False(t, mixesScripts("\u041e\u0442\u0447\u0451\u0442\u044b BI 2024"), "in different words")
}
