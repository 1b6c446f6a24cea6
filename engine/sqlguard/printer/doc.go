// Package printer turns checked trees into SQL and proves that the print means the same.
//
// [Print] uses the engine's printer; [Verify] parses its result again and compares the
// trees, so that a defect of the printer cannot change what runs. [Names] returns the
// names that the engine gives to result columns without alias, and [Source] finds the
// place in the user's text that a place in a print comes from.
package printer
