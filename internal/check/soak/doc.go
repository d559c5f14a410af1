// Package soak runs a pipeline of everything for an hour of virtual time: sources with steady, bursting, idle and restarting partitions,
// windows, triggers, state, timers, a slowly changing side input. Nothing may be lost or late, memory must stay flat, and every
// watermark that stands back must be explained.
//
// Invariant: what happens follows from the seed alone, as far as the order in which tasks run does not matter.
package soak
