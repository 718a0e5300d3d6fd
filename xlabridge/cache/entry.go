package cache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// formatVersion is part of every key and header. It rises when the layout below changes.
const formatVersion = 1

// The layout of an entry file. All numbers are little-endian.
//
//	 0  magic        8 bytes
//	 8  version      uint32
//	12  metadata     uint32, length in bytes
//	16  payload      uint64, length in bytes
//	24  key          32 bytes
//	56  checksum     32 bytes, SHA-256 of all other bytes of the file
//	88  metadata     JSON
//	    payload
const (
	magic      = "XLARUNPC"
	checksumAt = 56
	headerSize = checksumAt + sha256.Size
)

type entry struct {
	key     Key
	meta    Metadata
	payload []byte
}

// checksum returns the SHA-256 of the file without its checksum.
func checksum(file []byte) [sha256.Size]byte {
	h := sha256.New()
	h.Write(file[:checksumAt])
	h.Write(file[headerSize:])
	return [sha256.Size]byte(h.Sum(nil))
}

func encode(e entry) ([]byte, error) {
	meta, err := json.Marshal(e.meta)
	if err != nil {
		return nil, err
	}
	file := make([]byte, headerSize, headerSize+len(meta)+len(e.payload))
	copy(file, magic)
	binary.LittleEndian.PutUint32(file[8:], formatVersion)
	binary.LittleEndian.PutUint32(file[12:], uint32(len(meta)))
	binary.LittleEndian.PutUint64(file[16:], uint64(len(e.payload)))
	copy(file[24:], e.key[:])
	file = append(append(file, meta...), e.payload...)
	sum := checksum(file)
	copy(file[checksumAt:], sum[:])
	return file, nil
}

// head checks a file's header against the file's size and returns the length of the metadata.
func head(file []byte, size int64) (metaLen uint64, err error) {
	if len(file) < headerSize {
		return 0, fmt.Errorf("entry is damaged: %d bytes, cut short within its header of %d", len(file), headerSize)
	}
	if !bytes.Equal(file[:len(magic)], []byte(magic)) {
		return 0, fmt.Errorf("entry is damaged: it does not begin with %q", magic)
	}
	if v := binary.LittleEndian.Uint32(file[8:]); v != formatVersion {
		return 0, fmt.Errorf("entry has format %d, wanted %d", v, formatVersion)
	}
	metaLen = uint64(binary.LittleEndian.Uint32(file[12:]))
	payloadLen := binary.LittleEndian.Uint64(file[16:])
	if rest := uint64(size - headerSize); metaLen > rest || payloadLen != rest-metaLen {
		return 0, fmt.Errorf("entry is damaged: %d bytes follow its header, which announces %d of metadata and %d of "+
			"program", rest, metaLen, payloadLen)
	}
	return metaLen, nil
}

// decode checks a whole file. The payload is a slice of the file's bytes, not a copy.
func decode(file []byte) (entry, error) {
	metaLen, err := head(file, int64(len(file)))
	if err != nil {
		return entry{}, err
	}
	if sum := checksum(file); !bytes.Equal(sum[:], file[checksumAt:headerSize]) {
		return entry{}, fmt.Errorf("entry is damaged: its checksum does not match its bytes")
	}
	e := entry{key: Key(file[24:checksumAt]), payload: file[headerSize+metaLen:]}
	return e, e.readMeta(file[headerSize : headerSize+metaLen])
}

// readHead reads the header and the metadata of a file, without the checksum over the program.
func readHead(path string) (entry, error) {
	f, info, err := openEntry(path)
	if err != nil {
		return entry{}, err
	}
	defer f.Close()
	var header [headerSize]byte
	n, err := io.ReadFull(f, header[:])
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return entry{}, err
	}
	metaLen, err := head(header[:n], info.Size())
	if err != nil {
		return entry{}, err
	}
	meta := make([]byte, metaLen)
	if _, err := io.ReadFull(f, meta); err != nil {
		return entry{}, err
	}
	e := entry{key: Key(header[24:checksumAt])}
	return e, e.readMeta(meta)
}

func (e *entry) readMeta(data []byte) error {
	if err := json.Unmarshal(data, &e.meta); err != nil {
		return fmt.Errorf("entry is damaged: its metadata is not JSON: %w", err)
	}
	return nil
}
