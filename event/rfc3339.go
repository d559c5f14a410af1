package event

import (
	"fmt"
	"math"
	"time"
)

// ParseRFC3339 parses a time in RFC 3339, "2026-03-01T00:00:00.123Z" or with an offset, with or without a fraction, which is
// floored to the millisecond. The form with exactly three digits and a Z is parsed without allocation and without the time
// package. s may be a string or bytes; nothing of it is kept.
func ParseRFC3339[S ~string | ~[]byte](s S) (Time, error) {
	if t, ok := parseFixed(s); ok {
		return t, nil
	}
	t, err := time.Parse(time.RFC3339Nano, string(s))
	if err != nil {
		return 0, err
	}
	sec := t.Unix()
	return Time(sec*1000 + int64(t.Nanosecond())/1e6), nil
}

// parseFixed parses "2006-01-02T15:04:05.000Z" and "2006-01-02T15:04:05Z"; ok is false for anything else.
func parseFixed[S ~string | ~[]byte](s S) (t Time, ok bool) {
	if len(s) != 24 && len(s) != 20 || s[len(s)-1] != 'Z' {
		return 0, false
	}
	if s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' || s[16] != ':' {
		return 0, false
	}
	bad := 0
	digits := func(from, n int) int {
		v := 0
		for _, c := range []byte(s[from : from+n]) {
			d := int(c) - '0'
			if d < 0 || d > 9 {
				bad = 1
			}
			v = v*10 + d
		}
		return v
	}
	year, month, day := digits(0, 4), digits(5, 2), digits(8, 2)
	hour, minute, sec, ms := digits(11, 2), digits(14, 2), digits(17, 2), 0
	if len(s) == 24 {
		if s[19] != '.' {
			return 0, false
		}
		ms = digits(20, 3)
	}
	if bad != 0 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 || sec > 59 {
		return 0, false
	}
	days := daysFromCivil(int64(year), int64(month), int64(day))
	return Time(((days*24+int64(hour))*60+int64(minute))*60000 + int64(sec)*1000 + int64(ms)), true
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

// daysFromCivil counts days since 1970-01-01 in the proleptic Gregorian calendar, from eras of 400 years whose year begins
// in March.
func daysFromCivil(y, m, d int64) int64 {
	if m <= 2 {
		y--
		m += 12
	}
	era := floorDiv(y, 400)
	yearOfEra := y - era*400
	dayOfYear := (153*(m-3)+2)/5 + d - 1
	dayOfEra := yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + dayOfYear
	return era*146097 + dayOfEra - 719468
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
	ms := int64(t) - days*day
	if t == math.MinInt64 { // days*day is below int64
		ms = int64(t) - (days+1)*day + day
	}
	y, m, d := civilFromDays(days)
	switch {
	case y < 0:
		dst = fmt.Appendf(dst, "-%04d", -y)
	case y > 9999:
		dst = fmt.Appendf(dst, "+%d", y)
	default:
		dst = two(two(dst, y/100), y%100)
	}
	dst = two(append(dst, '-'), m)
	dst = two(append(dst, '-'), d)
	dst = two(append(dst, 'T'), ms/3600000)
	dst = two(append(dst, ':'), ms/60000%60)
	dst = two(append(dst, ':'), ms/1000%60)
	if millis {
		dst = append(dst, '.', byte('0'+ms%1000/100))
		dst = two(dst, ms%100)
	}
	return append(dst, 'Z')
}

func two(dst []byte, v int64) []byte { return append(dst, byte('0'+v/10), byte('0'+v%10)) }
