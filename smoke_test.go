package levada_test

import (
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/window"
)

func TestSmoke(t *testing.T) {
	h := levadatest.New(t)
	src := levadatest.Source[int64](h, "src")
	w := levada.WindowInto(src.Out, "w", levada.Windowing{Windows: window.Fixed(time.Minute)})
	k := levada.KeyBy(w, "k", func(v int64) string { return "a" })
	s := levada.SumPerKey(k, "s")
	out := levadatest.Collect(h, s)
	src.Add(0, 1)
	src.Add(59999, 2)
	src.Watermark(60000)
	t.Log(out.Take())
	h.Finish()
	t.Logf("%+v", h.Result())
}
