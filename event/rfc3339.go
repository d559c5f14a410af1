package event

import (
	"fmt"
	"sync/atomic"
	"time"
)

// ParseRFC3339 parses a time in RFC 3339, "2026-03-01T00:00:00.123Z" or with an offset, with or without a fraction, which is
// floored to the millisecond. The form with exactly three digits and a Z is parsed without allocation and without the time
// package. s may be a string or bytes; nothing of it is kept.
func ParseRFC3339[S ~string | ~[]byte](s S) (Time, error) {
	if len(s) == 24 || len(s) == 20 {
		if t, ok := parseFixed(string(s)); ok {
			return t, nil
		}
	}
	t, err := time.Parse(time.RFC3339Nano, string(s))
	if err != nil {
		return 0, err
	}
	sec := t.Unix()
	return Time(sec*1000 + int64(t.Nanosecond())/1e6), nil
}

// CutRFC3339 parses a time at the front of s, in the forms of [ParseRFC3339], that ends at the first space or with s. It returns what
// comes after the space. ok is false if s does not begin with a time. Nothing is allocated for the form with three digits and
// a Z, and nothing is kept.
func CutRFC3339[S ~string | ~[]byte](s S) (t Time, rest S, ok bool) {
	if len(s) > 24 && s[24] == ' ' {
		if t, ok := parseFixed(string(s[:24])); ok {
			return t, s[25:], true
		}
	}
	end := 0
	for end < len(s) && s[end] != ' ' {
		end++
	}
	t, err := ParseRFC3339(s[:end])
	return t, s[min(end+1, len(s)):], err == nil
}

// parseFixed parses "2006-01-02T15:04:05.000Z" and "2006-01-02T15:04:05Z"; ok is false for anything else. It looks at eight bytes at a
// time.
func parseFixed(s string) (t Time, ok bool) {
	if len(s) != 24 && len(s) != 20 || s[10] != 'T' {
		return 0, false
	}
	// "15:04:05": what is a digit becomes its value, a colon becomes 0, and everything else has one of the upper four bits, at
	// the latest when 6 is added.
	x := load8(s[11:19]) ^ 0x3030_3a30_303a_3030
	if x&0x0000_ff00_00ff_0000 != 0 { // the colons
		return 0, false
	}
	high := x | (x + 0x0606_0606_0606_0606)
	x = x*10 + x>>8 // bytes 0, 3 and 6 are two digits together
	hour, minute, sec := uint8(x), uint8(x>>24), uint8(x>>48)
	ms := Time(hour)*3600000 + Time(minute)*60000 + Time(sec)*1000
	if len(s) == 24 {
		f1, f2, f3 := uint32(s[20]-'0'), uint32(s[21]-'0'), uint32(s[22]-'0')
		high |= uint64(f1 | f2 | f3 | (f1 + 6) | (f2 + 6) | (f3 + 6))
		if s[19] != '.' {
			return 0, false
		}
		ms += Time(f1*100 + f2*10 + f3)
	}
	if high&0xf0f0_f0f0_f0f0_f0f0 != 0 || hour > 23 || minute > 59 || sec > 59 || s[len(s)-1] != 'Z' {
		return 0, false
	}
	// Times in a log come from few dates: the last of each day of the month is kept.
	slot := &dates[(s[8]&3)<<4|s[9]&15]
	head, tail := load8(s[:8]), uint16(s[8])|uint16(s[9])<<8
	if d := slot.Load(); d != nil && head == d.head && tail == d.tail {
		return d.start + ms, true
	}
	start, ok := parseDate(s[:10])
	if ok {
		slot.Store(&date{head, tail, start})
	}
	return start + ms, ok
}

// load8 returns eight bytes, the first one lowest: one instruction.
func load8(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// date is a date whose beginning is known.
type date struct {
	head  uint64 // the first eight bytes of its text
	tail  uint16 // the other two
	start Time
}

var dates [64]atomic.Pointer[date]

// parseDate parses "2006-01-02", of ten bytes.
func parseDate(s string) (start Time, ok bool) {
	var bad uint32
	year := pair(s[0], s[1], &bad)*100 + pair(s[2], s[3], &bad)
	month, day := pair(s[5], s[6], &bad), pair(s[8], s[9], &bad)
	if bad > 15 || s[4] != '-' || s[7] != '-' || month < 1 || month > 12 || day < 1 || day > int64(daysIn(int(year), int(month))) {
		return 0, false
	}
	return Time(daysFromCivil(year, month, day) * 86400000), true
}

// pair returns the number that two digits are; bad gets a bit above the lowest four if one is no digit.
func pair(a, b byte, bad *uint32) int64 {
	x, y := uint32(a-'0'), uint32(b-'0')
	*bad |= (x + 6) | (y + 6)
	return int64(x*10 + y)
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// daysFromCivil counts days since 1970-01-01 in the proleptic Gregorian calendar, in years that begin in March.
func daysFromCivil(y, m, d int64) int64 {
	if m <= 2 {
		y--
		m += 12
	}
	dayOfYear := (153*(m-3)+2)/5 + d - 1
	return y*365 + floorDiv(y, 4) - floorDiv(y, 100) + floorDiv(y, 400) + dayOfYear - 719468
}

// civilFromDays is the inverse of daysFromCivil.
func civilFromDays(days int64) (y, m, d int64) {
	z := days + 719468
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	y, m, d = yoe+era*400, mp+3, doy-(153*mp+2)/5+1
	if m > 12 {
		y++
		m -= 12
	}
	return y, m, d
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// AppendRFC3339 appends t to dst as "2026-03-01T00:00:00.123Z", always UTC, always three digits of milliseconds, and returns
// the extended buffer. Years outside of 0 to 9999 are written with a sign and all their digits, as ISO 8601 has it.
func (t Time) AppendRFC3339(dst []byte) []byte { return t.appendTo(dst, true) }

// AppendRFC3339Seconds appends t to dst as "2026-03-01T00:00:00Z": milliseconds are cut off towards the past.
func (t Time) AppendRFC3339Seconds(dst []byte) []byte { return t.appendTo(dst, false) }

func (t Time) appendTo(dst []byte, millis bool) []byte {
	const day = 24 * 60 * 60 * 1000
	days := floorDiv(int64(t), day)
	ms := uint32(int64(t) - days*day)
	slot := &dayTexts[days&63]
	d := slot.Load()
	if d == nil || d.days != days {
		d = &dayText{days, dateText(days)}
		slot.Store(d)
	}
	dst = append(dst, d.text...)
	sec, frac := ms/1000, ms%1000
	hour, minute := sec/3600, sec/60%60
	clock := [14]byte{
		'T', byte('0' + hour/10), byte('0' + hour%10), ':', byte('0' + minute/10), byte('0' + minute%10),
		':', byte('0' + sec%60/10), byte('0' + sec%10), '.', byte('0' + frac/100), byte('0' + frac/10%10), byte('0' + frac%10), 'Z',
	}
	if !millis {
		clock[9] = 'Z'
		return append(dst, clock[:10]...)
	}
	return append(dst, clock[:]...)
}

// dayText is a date as text.
type dayText struct {
	days int64 // since 1970-01-01
	text string
}

// dayTexts keeps the texts of days that were written last.
var dayTexts [64]atomic.Pointer[dayText]

func dateText(days int64) string {
	y, m, d := civilFromDays(days)
	switch {
	case y < 0:
		return fmt.Sprintf("-%04d-%02d-%02d", -y, m, d)
	case y > 9999:
		return fmt.Sprintf("+%d-%02d-%02d", y, m, d)
	}
	return fmt.Sprintf("%04d-%02d-%02d", y, m, d)
}
