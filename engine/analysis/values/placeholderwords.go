package values

import "strings"

// meaning says how surely a word stands for a missing value.
type meaning int

const (
	// always marks words that have no other meaning in data.
	always meaning = iota + 1
	// usually marks words that can be a code, a name or a category, too.
	usually
)

// wordMeanings are the words that stand for missing values, in the form of [bareWord].
var wordMeanings = func() map[string]meaning {
	words := map[string]meaning{}
	for m, list := range map[meaning]string{
		always: "n/a|#n/a|#na|n.a|n. a|n.a.|n/k|#value!|#ref!|#null!|#div/0!|#name?|\\n|null|undefined|not available|not applicable|" +
			"not specified|not provided|not given|not known|not set|not entered|not recorded|no data|no value|no information|no info|" +
			"no answer|data missing|missing data|missing value|value missing|to be determined|to be confirmed|to be defined|to be announced|" +
			"tbd|tbc|tba|0000-00-00|00/00/0000|00.00.0000|0000-00-00 00:00:00|" +
			"k.a|k.a.|k. a|keine angabe|keine angaben|nicht angegeben|nicht bekannt|nicht verfügbar|fehlt|ohne angabe|entfällt|" +
			"s/o|sans objet|non renseigné|non renseigne|non disponible|non spécifié|non précisé|n.c|inconnu|inconnue|n/d|n.d|" +
			"desconocido|desconocida|sin datos|sin dato|no disponible|no aplica|no especificado|sin especificar|" +
			"desconhecido|não informado|nao informado|não disponível|não aplicável|sem dados|" +
			"sconosciuto|sconosciuta|non disponibile|non specificato|non applicabile|n.p|" +
			"onbekend|niet beschikbaar|n.v.t|nvt|niet bekend|ukjent|ukendt|okänd|saknas|uppgift saknas|tuntematon|ei tiedossa|" +
			"nieznany|nieznane|brak|brak danych|nie dotyczy|b/d|neznámý|neznámé|neuvedeno|" +
			"ismeretlen|nincs adat|necunoscut|bilinmiyor|belirtilmemiş|" +
			"неизвестно|нет данных|не указано|не указан|н/д|不明|未知|未填写|無し|なし|該当なし|없음|알 수 없음|غير معروف|לא ידוע",
		usually: "na|nan|nil|none|unknown|unkown|unk|unspecified|missing|nd|empty|blank|unbekannt|leer|vide|vacío|ninguno|aucun|" +
			"nenhum|nessuno|ingen|keine|xx|dummy|asdf|qwerty|no name|noname",
	} {
		for word := range strings.SplitSeq(list, "|") {
			words[word] = m
		}
	}
	return words
}()

// wordEdges are characters around a word that do not change it.
const wordEdges = " \t\r\n\u00a0()[]{}<>\"'`"

// bareWord returns a text in lower case without spaces, quotes and brackets around it.
func bareWord(text string) string {
	word := strings.ToLower(strings.Trim(text, wordEdges))
	return strings.Join(strings.Fields(word), " ")
}

// meaningOf returns the meaning of a text, or 0.
func meaningOf(text string) meaning {
	word := bareWord(text)
	if m, ok := wordMeanings[word]; ok {
		return m
	}
	return wordMeanings[strings.TrimRight(word, ".!")]
}

// scales are words that form a scale of amounts with "none".
var scales = map[string]bool{
	"some": true, "all": true, "any": true, "few": true, "many": true, "low": true, "medium": true, "high": true, "mild": true,
	"moderate": true, "severe": true, "minor": true, "major": true, "partial": true, "full": true, "complete": true, "basic": true,
	"light": true, "heavy": true, "weak": true, "strong": true, "single": true, "both": true, "standard": true, "critical": true,
	"limited": true, "extensive": true, "little": true, "slight": true, "daily": true, "weekly": true, "monthly": true,
}

// states are words that form a list of states with "missing".
var states = map[string]bool{
	"found": true, "present": true, "lost": true, "damaged": true, "returned": true, "open": true, "closed": true, "available": true,
	"complete": true, "ok": true, "stolen": true, "broken": true, "intact": true, "delivered": true, "received": true,
}
