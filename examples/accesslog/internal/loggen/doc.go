// Package loggen writes web access logs for examples and measurements: a day of requests, a little out of order, with some
// broken lines.
//
// Invariants:
//   - The bytes depend on the number of lines only. They are the same on every machine and in every version: what reads them
//     may pin a checksum.
//   - Lines stand in the order of arrival, evenly spread over the day. A line's time is at most 30 s before its arrival, and
//     for nine of ten lines less than 2 s, but never before the day.
//   - One line in a thousand, evenly spread, is malformed.
package loggen
