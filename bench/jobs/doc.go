// Package jobs has what the benchmark runs: programs of this project, each next to one written by hand that gives the same
// results. Both read the same file and write into a folder; what is in the folder is compared.
//
// A program by hand is one goroutine that does what the job says and nothing more. It frees a window when the watermark has
// passed its end, as an engine does.
package jobs
