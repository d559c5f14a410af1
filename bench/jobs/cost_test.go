package jobs

import (
	"strings"
	"testing"
)

// BenchmarkCost is the cost jobs, for profiles.
func BenchmarkCost(b *testing.B) {
	for _, j := range costJobs() {
		b.Run(strings.TrimPrefix(j.Name, "cost-"), func(b *testing.B) {
			for range b.N {
				v, err := j.run(Args{})
				if err != nil {
					b.Fatal(err)
				}
				for name, x := range v {
					b.ReportMetric(x, strings.ReplaceAll(name, " ", "-"))
				}
			}
		})
	}
}
