package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// digest stands for the lines of an output; it does not depend on their order.
type digest struct {
	lines int64
	sum   uint64 // of the lines' hashes
}

// String is "LINES:SUM".
func (d digest) String() string { return fmt.Sprintf("%d:%016x", d.lines, d.sum) }

// digestOf returns the digest of all files in a folder and below, without those whose names begin with a dot. With totals, a
// line's last two fields are a count and a sum, and lines that are else equal are taken as one with their totals; instead
// of the number of lines, that of the counts is given.
func digestOf(dir string, totals bool) (string, error) {
	var d digest
	files := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || strings.HasPrefix(entry.Name(), ".") {
			return err
		}
		files++
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(make([]byte, 64<<10), 1<<20)
		for err == nil && lines.Scan() {
			err = d.add(lines.Bytes(), totals)
		}
		return errors.Join(err, lines.Err(), f.Close())
	})
	if err == nil && files == 0 {
		err = errors.New("it has written no file")
	}
	return d.String(), err
}

// add takes a line. That of totals is a linear function of count and sum, so that parts add up to the same as the whole.
func (d *digest) add(line []byte, totals bool) error {
	if !totals {
		d.lines++
		d.sum += hash(line)
		return nil
	}
	i := bytes.LastIndexByte(line, ' ')
	j := bytes.LastIndexByte(line[:max(i, 0)], ' ')
	if j < 0 {
		return fmt.Errorf("%q does not end in two numbers", line)
	}
	count, err1 := strconv.ParseInt(string(line[j+1:i]), 10, 64)
	sum, err2 := strconv.ParseInt(string(line[i+1:]), 10, 64)
	d.lines += count
	d.sum += hash(line[:j])*uint64(count) + hash(line[:j+1])*uint64(sum)
	return errors.Join(err1, err2)
}

// hash is FNV-1a with its bits mixed, so that sums of similar lines differ.
func hash(b []byte) uint64 {
	h := uint64(0xcbf29ce484222325)
	for _, c := range b {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	h = (h ^ h>>32) * 0xd6e8feb86659fd93
	return h ^ h>>32
}
