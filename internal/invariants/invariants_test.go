package invariants_test

import (
	"strings"
	"testing"

	"github.com/levadaflow/levada/internal/invariants"
)

// violation runs f and returns what Check panicked with, nil if it did not.
func violation(f func()) (v *invariants.Violation) {
	defer func() {
		if r := recover(); r != nil {
			v = r.(*invariants.Violation)
		}
	}()
	f()
	return nil
}

func TestCheck(t *testing.T) {
	if v := violation(func() { invariants.Check(true, "never %d", 1) }); v != nil {
		t.Errorf("what holds is reported: %v", v)
	}
	v := violation(func() { invariants.Check(false, "hold %d is %s", 7, "gone") })
	if (v != nil) != invariants.Enabled {
		t.Fatalf("with the checks on = %v: %v", invariants.Enabled, v)
	}
	if v != nil && (v.Text != "hold 7 is gone" || !strings.HasSuffix(v.Error(), ": hold 7 is gone")) {
		t.Errorf("got %q", v)
	}
}
