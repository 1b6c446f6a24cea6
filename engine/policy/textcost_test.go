package policy_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/policy"
)

// TestHostilePolicyTextsTakeBoundedMemory parses hostile texts of the greatest length and
// checks that none takes more memory, on the heap and the stack, than a request may.
func TestHostilePolicyTextsTakeBoundedMemory(t *testing.T) {
	const most = 32 << 20
	fill := func(before, part, after string) string {
		return before + strings.Repeat(part, (policy.MaxTextBytes-len(before)-len(after))/len(part)) + after
	}
	const head = "permit (principal, action, resource) when { "
	for name, text := range map[string]string{
		"parentheses":  fill(head, "(", ""),
		"lists":        fill(head, "[", ""),
		"records":      fill(head, "{a:", ""),
		"ifs":          fill(head, "if ", ""),
		"conditions":   fill("permit (principal, action, resource) ", "when{1==1}", ";"),
		"nots":         fill(head, "!", "true };"),
		"minus signs":  fill(head, "-", "1 };"),
		"sums":         fill(head, "1+", "1 };"),
		"products":     fill(head, "1*", "1 };"),
		"ands":         fill(head, "1&&", "1 };"),
		"ors":          fill(head, "1||", "1 };"),
		"members":      fill(head+"resource", ".a", " };"),
		"brackets":     fill(head+"resource", `["a"]`, " };"),
		"methods":      fill(head+"resource", ".isEmpty()", " };"),
		"has":          fill(head+"resource has a", ".a", " };"),
		"literals":     fill(head+"[", "1,", "1].contains(resource.a) };"),
		"policies":     fill("", "permit(principal,action,resource);", ""),
		"annotations":  fill("", "@a", "permit(principal,action,resource);"),
		"closings":     fill(head, ")(", ""),
		"open comment": fill("/*", "*", ""),
		"open string":  fill(head+`"`, `\n`, ""),
		"wildcards":    fill(head+`resource.a like "`, "*a", `" };`),
		"entity":       fill(head+"principal == ", "A::", `"u" };`),
	} {
		t.Run(name, func(t *testing.T) {
			require.LessOrEqual(t, len(text), policy.MaxTextBytes)
			var before, after runtime.MemStats
			done := make(chan error)
			runtime.GC()
			runtime.ReadMemStats(&before)
			go func() { // a new goroutine has a small stack
				_, err := policy.Parse(text)
				runtime.ReadMemStats(&after)
				done <- err
			}()
			require.ErrorIs(t, <-done, policy.ErrText)
			t.Logf("heap %d stack %d", after.TotalAlloc-before.TotalAlloc, after.StackInuse-before.StackInuse)
			require.Less(t, after.TotalAlloc-before.TotalAlloc+after.StackInuse-before.StackInuse, uint64(most))
		})
	}
}
