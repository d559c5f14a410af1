package levada_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/combine"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/source"
)

// nilSteps build a step each without the function, combining function or source that it needs.
var nilSteps = map[string]func(in levada.PCollection[keyInt]){
	"Map":    func(in levada.PCollection[keyInt]) { levada.Map[keyInt, int](in, "step", nil) },
	"TryMap": func(in levada.PCollection[keyInt]) { levada.TryMap[keyInt, int](in, "step", nil) },
	"Filter": func(in levada.PCollection[keyInt]) { levada.Filter(in, "step", nil) },
	"FlatMap": func(in levada.PCollection[keyInt]) {
		levada.FlatMap[keyInt](in, "step", (func(keyInt) iter.Seq[int])(nil))
	},
	"KeyBy":      func(in levada.PCollection[keyInt]) { levada.KeyBy[int](in, "step", nil) },
	"KeyValue":   func(in levada.PCollection[keyInt]) { levada.KeyValue[keyInt, int, int](in, "step", nil) },
	"ParDo":      func(in levada.PCollection[keyInt]) { levada.ParDo[keyInt, int](in, "step", nil) },
	"ParDo2":     func(in levada.PCollection[keyInt]) { levada.ParDo2[keyInt, int, int](in, "step", nil) },
	"Do":         func(in levada.PCollection[keyInt]) { levada.Do(in, "step", nil) },
	"ForEach":    func(in levada.PCollection[keyInt]) { levada.ForEach(in, "step", nil) },
	"SinkOf":     func(in levada.PCollection[keyInt]) { levada.SinkOf(in, "step", nil, nil) },
	"Scope":      func(in levada.PCollection[keyInt]) { levada.Scope[int](in.Pipeline(), "step", nil) },
	"WindowBy":   func(in levada.PCollection[keyInt]) { levada.WindowBy(in, "step", nil, levada.Windowing{}) },
	"ParDoKeyed": func(in levada.PCollection[keyInt]) { levada.ParDoKeyed[string, int, int](in, "step", nil) },
	"ParDoKeyed2": func(in levada.PCollection[keyInt]) {
		levada.ParDoKeyed2[string, int, int, int](in, "step", nil)
	},
	"ParDoSplit": func(in levada.PCollection[keyInt]) {
		levada.ParDoSplit[keyInt, int, int, int](in, "step", source.Restrictions[keyInt, int, int]{}, nil)
	},
	"ParDoSplit2": func(in levada.PCollection[keyInt]) {
		levada.ParDoSplit2[keyInt, int, int, int, int](in, "step", source.Restrictions[keyInt, int, int]{}, nil)
	},
	"CombinePerKey":   func(in levada.PCollection[keyInt]) { levada.CombinePerKey[string, int, int, int](in, "step", nil) },
	"CombineGlobally": func(in levada.PCollection[keyInt]) { levada.CombineGlobally[keyInt, int, int](in, "step", nil) },
	"MapConcurrent": func(in levada.PCollection[keyInt]) {
		levada.MapConcurrent[keyInt, int](in, "step", levada.Concurrent{Max: 1}, nil)
	},
	"Join":      func(in levada.PCollection[keyInt]) { levada.Join[string, int, int, int]("step", in, in, nil) },
	"LeftJoin":  func(in levada.PCollection[keyInt]) { levada.LeftJoin[string, int, int, int]("step", in, in, nil) },
	"OuterJoin": func(in levada.PCollection[keyInt]) { levada.OuterJoin[string, int, int, int]("step", in, in, nil) },
	"IntervalJoin": func(in levada.PCollection[keyInt]) {
		levada.IntervalJoin[string, int, int, int]("step", in, in, levada.Interval{}, nil)
	},
	"TableJoin": func(in levada.PCollection[keyInt]) { levada.TableJoin[string, int, int, int]("step", in, in, nil) },
	"ChangelogJoin": func(in levada.PCollection[keyInt]) {
		changes := levada.Map(in, "changes", func(p keyInt) levada.KV[string, levada.Opt[int]] {
			return levada.KV[string, levada.Opt[int]]{Key: p.Key, Value: levada.Some(p.Value)}
		})
		levada.ChangelogJoin[string, int, int, int]("step", in, changes, nil)
	},
	"WithTimestamps": func(in levada.PCollection[keyInt]) { levada.WithTimestamps[keyInt, time.Time](in, "step", nil) },
	"WithTimestampsFrom": func(in levada.PCollection[keyInt]) {
		levada.WithTimestampsFrom[keyInt, time.Time](in, "step", nil)
	},
	"ShiftTimestamps": func(in levada.PCollection[keyInt]) {
		levada.ShiftTimestamps[keyInt, event.Time](in, "step", time.Second, nil)
	},
	"MapTimed": func(in levada.PCollection[keyInt]) { levada.MapTimed[keyInt, event.Time, int](in, "step", nil) },
	"ReadUnbounded": func(in levada.PCollection[keyInt]) {
		levada.ReadUnbounded[int, int](in.Pipeline(), "step", nil, levada.ReadOptions{})
	},
	"ReadBounded": func(in levada.PCollection[keyInt]) {
		levada.ReadBounded[int](in.Pipeline(), "step", nil, levada.ReadOptions{})
	},
}

// TestNilFunctions shows that a step without its function is refused at the call, which the error names.
func TestNilFunctions(t *testing.T) {
	for name, build := range nilSteps {
		func() {
			defer func() {
				err, _ := recover().(*levada.BuildError)
				if err == nil || !errors.Is(err, levada.ErrNilFunction) || err.Step != "step" || !strings.Contains(err.Site, "nil_test.go:") {
					t.Errorf("%s: %v", name, err)
				}
			}()
			build(levada.Create(levada.New(), "in", keyInt{}))
		}()
	}
}

// TestNilFunctionsAreAll: the steps above are all exported functions of the package that take one.
func TestNilFunctionsAreAll(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	no := map[string]bool{"Main": true, "Exec": true, "CombiningState": true} // they build no step
	found := 0
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if file.Name.Name != "levada" {
			continue
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !f.Name.IsExported() || no[f.Name.Name] {
				continue
			}
			for _, p := range f.Type.Params.List {
				if !callable(p.Type) {
					continue
				}
				found++
				if nilSteps[f.Name.Name] == nil {
					t.Errorf("%s is not tested with nil", f.Name.Name)
				}
			}
		}
	}
	if found < 30 {
		t.Errorf("only %d steps were found", found)
	}
}

// callable reports whether a parameter of this type is a function, or what is called by its methods.
func callable(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.FuncType:
		return true
	case *ast.IndexListExpr:
		return callable(e.X)
	case *ast.IndexExpr:
		return callable(e.X)
	case *ast.Ident:
		return e.Name == "DoFnKeyed"
	case *ast.SelectorExpr:
		return e.Sel.Name == "Fn" || e.Sel.Name == "Unbounded" || e.Sel.Name == "Bounded"
	}
	return false
}

// TestNilInSetups shows that a setup which returns nil or declares it is reported with the pipeline's other problems.
func TestNilInSetups(t *testing.T) {
	p := levada.New()
	in := levada.Create(p, "in", keyInt{})
	levada.ParDo(in, "process", func(*levada.Setup, *levada.Out[int]) levada.Process[keyInt] { return nil })
	levada.ParDoKeyed(in, "keyed", func(*levada.Keyed[string], *levada.Out[int]) levada.Process[keyInt] { return nil })
	ranges := source.Restrictions[keyInt, int, int]{
		Initial: func(context.Context, keyInt) (int, error) { return 0, nil },
		Track:   func(keyInt, int) source.Tracker[int, int] { return nil },
	}
	levada.ParDoSplit(in, "split", ranges, func(*levada.Splitting, *levada.Out[int]) levada.ProcessSplit[keyInt, int, int] { return nil })
	hooks := map[string]func(s *levada.Setup){
		"start": func(s *levada.Setup) { s.OnStart(nil) }, "bundle": func(s *levada.Setup) { s.OnBundleStart(nil) },
		"finish": func(s *levada.Setup) { s.OnBundleFinish(nil) }, "close": func(s *levada.Setup) { s.OnClose(nil) },
	}
	for name, declare := range hooks {
		levada.ForEach(in, name, func(s *levada.Setup) levada.Process[keyInt] {
			declare(s)
			return func(*levada.Ctx, keyInt) error { return nil }
		})
	}
	levada.ParDoKeyed(in, "expiry", func(s *levada.Keyed[string], _ *levada.Out[int]) levada.Process[keyInt] {
		s.OnWindowExpiration(nil)
		return func(*levada.Ctx, keyInt) error { return nil }
	})
	levada.ParDoKeyed(in, "state", func(s *levada.Keyed[string], _ *levada.Out[int]) levada.Process[keyInt] {
		levada.CombiningState(s, "sum", (combine.Fn[int, int, int])(nil))
		return func(*levada.Ctx, keyInt) error { return nil }
	})
	var all levada.BuildErrors
	if !errors.As(p.Err(), &all) || len(all) != 9 {
		t.Fatalf("%d problems: %v", len(all), p.Err())
	}
	for _, err := range all {
		if !errors.Is(err, levada.ErrNilFunction) || !strings.Contains(err.Site, "nil_test.go:") {
			t.Errorf("%v", err)
		}
	}
}
