package portable

import (
	"context"
	"time"
)

// cancelTime is how long a cancelled job may take to end.
const cancelTime = 5 * time.Second

// linger returns a context that is done cancelTime after ctx, or when stop is called.
func linger(ctx context.Context) (late context.Context, stop func()) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() { time.AfterFunc(cancelTime, cancel) })
	return late, func() { unhook(); cancel() }
}
