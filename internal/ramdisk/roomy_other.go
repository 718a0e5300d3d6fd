//go:build !linux

package ramdisk

func roomy(string) bool { return false }
