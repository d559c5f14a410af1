// Jsontail counts the visits of each user and minute in a folder of JSON lines that grows, and prints each minute when it is complete:
//
//	go run ./examples/jsontail --dir logs --on-term=drain
//
// A line is {"time":"2026-03-01T10:00:00Z","user":"anna"}. The program goes on until it is told to end; SIGTERM lets out what is counted so
// far.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/window"
)

type options struct {
	Dir      string        `help:"Folder of the files. Their names must grow, as with a date." required:"" type:"existingdir"`
	Minutes  time.Duration `help:"Size of the windows." default:"1m"`
	Disorder time.Duration `help:"How far lines may be out of order." default:"5s"`
	Idle     time.Duration `help:"After how long without a line a part no longer holds the others up." default:"10s"`
	Poll     time.Duration `help:"How often to look for new lines." default:"200ms"`
	Parts    int           `help:"In how many parts the files are read." default:"2"`
}

func main() {
	levada.Main("jsontail", func(p *levada.Pipeline, o options) error { return build(p, o, os.Stdout) })
}

var errNoWindows = errors.New("--minutes must be greater than 0")

// build is the pipeline.
func build(p *levada.Pipeline, o options, out io.Writer) error {
	if o.Minutes <= 0 {
		return errNoWindows
	}
	visits := levada.ReadUnbounded(p, "visits", folder{dir: o.Dir, disorder: o.Disorder}, levada.ReadOptions{
		Parts: o.Parts, PollEvery: o.Poll, IdleAfter: o.Idle,
	})
	minutes := levada.WindowInto(visits, "minutes", levada.Windowing{Windows: window.Fixed(o.Minutes)})
	counts := levada.CountPerKey(levada.KeyBy(minutes, "by-user", func(v visit) string { return v.User }), "count")
	var mu sync.Mutex
	levada.Do(counts, "print", func(c *levada.Ctx, kv levada.KV[string, int64]) error {
		mu.Lock()
		defer mu.Unlock()
		_, err := fmt.Fprintf(out, "%s %s %d\n", c.Window().Start, kv.Key, kv.Value)
		return err
	})
	return nil
}
