// Command levada runs scenario files.
//
//	levada scenario FILE...
//
// runs each file at parallelism 1 and 4 and with bundles of 1 and 1000 elements, and prints a diff for each that differs, what
// is not supported yet by name, and a closing line "N passed, N failed, N not yet". The exit code is 1 if any failed or could
// not be read, 2 if the command line is wrong.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/internal/scenario"
)

type commands struct {
	Scenario scenarioCmd `cmd:"" help:"Run scenario files and compare with what they expect."`
}

type scenarioCmd struct {
	Files   []string `arg:"" help:"Scenario files."`
	Rewrite bool     `help:"Write what comes out into the files as the expected parts; judge the change yourself."`
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the command as a function; it returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	var c commands
	exit := -1
	parser, err := kong.New(&c, kong.Name("levada"), kong.Description("Event-time dataflow: tools."),
		kong.Writers(stdout, stderr), kong.Exit(func(code int) { exit = code }))
	if err != nil {
		fmt.Fprintln(stderr, "levada:", err)
		return 2
	}
	_, err = parser.Parse(args)
	switch {
	case exit >= 0:
		return exit
	case err != nil:
		fmt.Fprintf(stderr, "levada: %v (see --help)\n", err)
		return 2
	}
	return c.Scenario.run(stdout, stderr)
}

func (c scenarioCmd) run(stdout, stderr io.Writer) int {
	code := 0
	var all []scenario.Verdict
	for _, file := range c.Files {
		v, err := c.one(file)
		if err != nil {
			fmt.Fprintln(stderr, "levada:", err)
			code = 1
			continue
		}
		all = append(all, v)
	}
	if scenario.Report(stdout, all) > 0 {
		code = 1
	}
	return code
}

func (c scenarioCmd) one(file string) (scenario.Verdict, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return scenario.Verdict{}, err
	}
	if c.Rewrite {
		if data, err = rewritten(file, data); err != nil {
			return scenario.Verdict{}, err
		}
	}
	return scenario.Judge(strings.TrimSuffix(filepath.Base(file), ".txt"), data, scenario.Modes(), scenario.Disputed)
}

// rewritten puts what comes out at parallelism 1 into the file.
func rewritten(file string, data []byte) ([]byte, error) {
	f, err := scenario.Parse(file, data)
	if err != nil {
		return nil, err
	}
	r, err := scenario.Run(f, levada.Embedded{Parallelism: 1})
	if err != nil || len(r.NotYet) > 0 {
		return data, err
	}
	data = f.Rewrite(r.Outputs)
	return data, os.WriteFile(file, data, 0o644)
}
