package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"

	"xlarun/xlabridge/fetch"
)

// checksumRecord is the saved checksum of a plugin outside the cache folder.
type checksumRecord struct {
	Path    string `json:"path"`
	Size    int64  `json:"size"`
	ModTime int64  `json:"mtime_ns"`
	Inode   uint64 `json:"inode"`
	SHA256  string `json:"sha256"`
}

// checksum returns the sha256 of a plugin that the user named. The checksum is saved in the cache folder, and computed
// again if the file's size, time or inode has changed.
func (s *store) checksum(ctx context.Context, path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fetch.Cause(err)
	}
	record := checksumRecord{Path: path, Size: info.Size(), ModTime: info.ModTime().UnixNano(),
		Inode: fetch.Inode(info)}
	name := sha256.Sum256([]byte(path))
	file := filepath.Join(s.Dir, "known", hex.EncodeToString(name[:8])+".json")
	if text, _, err := fetch.ReadRegular(file, manifestLimit); err == nil {
		var saved checksumRecord
		if json.Unmarshal(text, &saved) == nil && len(saved.SHA256) == 2*sha256.Size {
			record.SHA256 = saved.SHA256
			if record == saved {
				return saved.SHA256, nil
			}
		}
	}
	if record.SHA256, err = fetch.HashFile(ctx, path); err != nil {
		return "", fetch.Cause(err)
	}
	_ = fetch.WriteJSON(file, record)
	return record.SHA256, nil
}
