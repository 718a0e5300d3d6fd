package hardware

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// FreeMemory returns the memory in bytes that this process can still use: the machine's available memory, or less if a
// control group of the process has a lower limit. 0 means not known.
func FreeMemory() int64 { return freeMemory("/") }

// freeMemory is FreeMemory with the machine's files below root.
func freeMemory(root string) int64 {
	text, err := os.ReadFile(filepath.Join(root, "proc/meminfo"))
	if err != nil {
		return 0
	}
	free, err := kilobytes(string(text), "MemAvailable:")
	if err != nil {
		return 0
	}
	for _, g := range memoryGroups(root) {
		free = min(free, max(0, g.limit-g.used))
	}
	return free
}

// memoryLimit returns the lowest limit of the process's control groups in bytes, or math.MaxInt64.
func memoryLimit(root string) int64 {
	limit := int64(math.MaxInt64)
	for _, g := range memoryGroups(root) {
		limit = min(limit, g.limit)
	}
	return limit
}

// memoryGroup is a control group with a limit.
type memoryGroup struct {
	limit int64
	used  int64 // without cached files, which the kernel can drop
}

// memoryGroups returns the process's control groups, of version 1 or 2, that have a memory limit and are mounted. They
// include the parents of its own group.
func memoryGroups(root string) []memoryGroup {
	own, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return nil
	}
	mounts, err := os.ReadFile(filepath.Join(root, "proc/self/mountinfo"))
	if err != nil {
		return nil
	}
	var groups []memoryGroup
	for line := range strings.Lines(string(own)) {
		// hierarchy:controllers:path; version 2 has no controllers here.
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 {
			continue
		}
		version2 := fields[0] == "0" && fields[1] == ""
		if !version2 && !hasWord(fields[1], "memory") {
			continue
		}
		mount, path := groupMount(string(mounts), version2, fields[2])
		if mount == "" {
			continue
		}
		mount = filepath.Join(root, mount)
		for dir := filepath.Join(mount, path); ; dir = filepath.Dir(dir) {
			if g, ok := readGroup(dir, version2); ok {
				groups = append(groups, g)
			}
			if len(dir) <= len(mount) {
				break
			}
		}
	}
	return groups
}

// groupMount returns the mount point of the groups in a mountinfo text, and the path of the group below it. Inside a
// container, the mount may begin at the container's group.
func groupMount(mounts string, version2 bool, group string) (mount, path string) {
	for line := range strings.Lines(mounts) {
		// number parent device root mount-point options [tags] - kind source options
		place, kind, ok := strings.Cut(line, " - ")
		fields, kinds := strings.Fields(place), strings.Fields(kind)
		if !ok || len(fields) < 5 || len(kinds) < 3 {
			continue
		}
		if version2 && kinds[0] != "cgroup2" || !version2 && (kinds[0] != "cgroup" || !hasWord(kinds[2], "memory")) {
			continue
		}
		path, err := filepath.Rel(fields[3], group)
		if err != nil || !filepath.IsLocal(path) {
			path = "." // the group is not below the mount
		}
		return unescapeMount(fields[4]), path
	}
	return "", ""
}

// unescapeMount decodes the octal escapes of a mountinfo path.
func unescapeMount(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

// hasWord reports whether a list with commas contains the word.
func hasWord(list, word string) bool {
	return strings.Contains(","+list+",", ","+word+",")
}

// readGroup reads a group's limit and use. ok is false if it has no limit.
func readGroup(dir string, version2 bool) (g memoryGroup, ok bool) {
	limits, used, cached := []string{"memory.limit_in_bytes"}, "memory.usage_in_bytes", []string{"total_inactive_file",
		"total_active_file"}
	if version2 {
		limits, used, cached = []string{"memory.max", "memory.high"}, "memory.current",
			[]string{"inactive_file", "active_file"}
	}
	g.limit = math.MaxInt64
	for _, name := range limits {
		if n, ok := readNumber(filepath.Join(dir, name)); ok {
			g.limit = min(g.limit, n)
		}
	}
	// Version 1 writes "no limit" as a number beyond all memory; version 2 as a word.
	if g.limit >= 1<<60 {
		return g, false
	}
	g.used, _ = readNumber(filepath.Join(dir, used))
	stat, err := os.ReadFile(filepath.Join(dir, "memory.stat"))
	if err != nil {
		return g, true
	}
	for line := range strings.Lines(string(stat)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && (name == cached[0] || name == cached[1]) {
			g.used -= n
		}
	}
	g.used = max(0, g.used)
	return g, true
}

// readNumber reads a file with one number.
func readNumber(path string) (n int64, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil
}
