package scenario

import (
	"context"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/source"
)

// poll is an unbounded source whose calls are written in the file: each claims its number. One that resumes after the last has nothing to do.
func poll(p *levada.Pipeline, s Step) levada.PCollection[pair] {
	calls := s.Spec.(Poll).Calls
	end := int64(len(calls))
	if !calls[end-1].Done {
		end++
	}
	ranges := source.OffsetRanges(func(context.Context, []byte) (source.OffsetRange, error) {
		return source.OffsetRange{From: 0, To: end}, nil
	})
	ranges.Unbounded = true
	type process = levada.ProcessSplit[[]byte, source.OffsetRange, int64]
	return levada.ParDoSplit(levada.Impulse(p, "impulse-of-"+s.Name), s.Name, ranges, func(sp *levada.Splitting, out *levada.Out[pair]) process {
		wm := levada.ManualWatermark(sp)
		return func(c *levada.Ctx, _ []byte, claim *levada.Claim[source.OffsetRange, int64]) (levada.Resume, error) {
			n := claim.Restriction().From
			if !claim.TryClaim(n) || n == int64(len(calls)) {
				return levada.Done, nil
			}
			call := calls[n]
			for _, e := range call.Elements {
				out.EmitAt(c, pair{Key: e.Key, Value: number(e.Value)}, e.Time)
			}
			if call.Reports {
				wm.Advance(call.Watermark)
			}
			if call.Done {
				return levada.Done, nil
			}
			return levada.ResumeAfter(duration(call.Resume)), nil
		}
	})
}
