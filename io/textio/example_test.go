package textio_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/io/textio"
	"github.com/levadaflow/levada/window"
)

// Lines are counted per minute, while the file is read: its lines are at most ten seconds out of order.
func ExampleRead() {
	log1 := "2026-03-01T10:00:01Z start\n2026-03-01T10:01:05Z hello\n2026-03-01T10:00:58Z delayed\n2026-03-01T10:02:30Z stop\n"

	p := levada.New()
	lines := textio.Read(p, "read", textio.ReadFiles{
		Glob:  "-", // or a path such as "logs/*.log.gz"
		Stdin: strings.NewReader(log1),
		Time: func(line string) (event.Time, bool) {
			stamp, _, _ := strings.Cut(line, " ")
			t, err := event.ParseRFC3339(stamp)
			return t, err == nil
		},
		InOrder: &textio.InOrder{OutOfOrder: 10 * time.Second},
	})
	minutes := levada.WindowInto(lines, "minutes", levada.Windowing{Windows: window.Fixed(time.Minute)})
	all := levada.KeyBy(minutes, "all", func(string) string { return "lines" })
	levada.ForEach(levada.CountPerKey(all, "count"), "print", func(*levada.Setup) levada.Process[levada.KV[string, int64]] {
		return func(c *levada.Ctx, kv levada.KV[string, int64]) error {
			fmt.Println(c.Window().Start, kv.Value, kv.Key)
			return nil
		}
	})
	if _, err := p.Run(context.Background(), levada.Embedded{Parallelism: 1}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 2026-03-01T10:00:00.000Z 2 lines
	// 2026-03-01T10:01:00.000Z 1 lines
	// 2026-03-01T10:02:00.000Z 1 lines
}

func ExampleWrite() {
	dir, err := os.MkdirTemp("", "levada")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	p := levada.New()
	words := levada.Create(p, "words", "water", "runs", "down")
	textio.Write(words, "write", textio.WriteFiles{Prefix: filepath.Join(dir, "words"), Suffix: ".txt"})
	if _, err := p.Run(context.Background(), levada.Embedded{Parallelism: 1}); err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "words-00000-of-00001.txt"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(text))
	// Output:
	// water
	// runs
	// down
}

func ExampleWriteAppend() {
	dir, err := os.MkdirTemp("", "levada")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	p := levada.New()
	numbers := levada.Create(p, "numbers", 1, 2)
	files := textio.WriteFiles{Prefix: filepath.Join(dir, "numbers")}
	textio.WriteAppend(numbers, "write", files, func(_ *levada.Ctx, dst []byte, v int) []byte {
		return fmt.Appendf(dst, "number %d", v)
	})
	if _, err := p.Run(context.Background(), levada.Embedded{Parallelism: 1}); err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "numbers-00000-of-00001"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(text))
	// Output:
	// number 1
	// number 2
}
