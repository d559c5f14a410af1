package levada_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMustNotCompile holds the promises of the types: each program in testdata/nocompile has a mistake that the compiler must
// find, with the text after "// want: ". The program right.go shows that the rest of them is right.
func TestMustNotCompile(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the compiler")
	}
	files, err := filepath.Glob("testdata/nocompile/*.go")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d programs, %v", len(files), err)
	}
	slots := make(chan struct{}, 2)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".go"), func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("go", "build", "-o", os.DevNull, file).CombinedOutput()
			_, want, wrong := strings.Cut(string(text), "// want: ")
			want, _, _ = strings.Cut(want, "\n")
			switch {
			case !wrong && err != nil:
				t.Errorf("does not compile: %s", out)
			case wrong && err == nil:
				t.Errorf("compiles, want %q", want)
			case wrong && !strings.Contains(string(out), want):
				t.Errorf("want %q in\n%s", want, out)
			}
		})
	}
}
