package scenario

import "github.com/levadaflow/levada"

// side adds the sum of a view's values.
func side(in, view levada.PCollection[pair], name string) levada.PCollection[pair] {
	values := levada.AsIter(view, "view-of-"+name)
	return levada.ParDo(in, name, func(s *levada.Setup, out *levada.Out[pair]) levada.Process[pair] {
		all := levada.Side(s, values)
		return func(c *levada.Ctx, kv pair) error {
			n := kv.Value.N
			for x := range all.All(c) {
				n += x.Value.N
			}
			out.Emit(c, pair{Key: kv.Key, Value: number(n)})
			return nil
		}
	})
}
