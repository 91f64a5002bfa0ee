package postgres

import (
	"encoding/binary"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// A statement is SQL with its parameters. The parameters are sent in binary form, because bytes
// take twice the space as text.
// https://www.postgresql.org/docs/current/protocol-overview.html#PROTOCOL-FORMAT-CODES
type statement struct {
	sql    string
	values [][]byte
	types  []uint32
	warned bool // set by askOnce: the server applied the statement with a warning
}

// inBinary requests the binary form for all parameters, or for all results.
var inBinary = []int16{1}

// add adds a parameter to the statement, and returns its placeholder in the SQL. A nil value means
// NULL.
func (q *statement) add(kind uint32, value []byte) string {
	q.values, q.types = append(q.values, value), append(q.types, kind)
	return "$" + strconv.Itoa(len(q.values))
}

func (q *statement) text(s string) string { return q.add(pgtype.TextOID, []byte(s)) }

func (q *statement) bytes(b []byte) string { return q.add(pgtype.ByteaOID, b) }

func (q *statement) int(n int64) string {
	return q.add(pgtype.Int8OID, binary.BigEndian.AppendUint64(nil, uint64(n)))
}

// epoch is the time that the server counts as 0, in microseconds since 1970.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

// time adds a time as a parameter, and returns its placeholder. The zero time means NULL.
func (q *statement) time(at time.Time) string {
	if at.IsZero() {
		return q.add(pgtype.TimestamptzOID, nil)
	}
	return q.add(pgtype.TimestamptzOID, binary.BigEndian.AppendUint64(nil, uint64(at.UnixMicro()-epoch)))
}

// fields reads the fields of a row one after another. After an error it returns only zero values.
type fields struct {
	row [][]byte
	err error
}

var errForm = errors.New("postgres: a field has another form than its column")

func (f *fields) bytes() []byte {
	if f.err != nil || len(f.row) == 0 {
		f.err = errForm
		return nil
	}
	b := f.row[0]
	f.row = f.row[1:]
	return b
}

// bool reads a boolean. It returns false for NULL.
func (f *fields) bool() bool {
	b := f.bytes()
	if b != nil && len(b) != 1 {
		f.err = errForm
		return false
	}
	return len(b) == 1 && b[0] != 0
}

// int reads an integer. It returns 0 for NULL.
func (f *fields) int() int64 {
	b := f.bytes()
	if len(b) != 8 {
		if b != nil {
			f.err = errForm
		}
		return 0
	}
	return int64(binary.BigEndian.Uint64(b))
}

// time reads a time. It returns the zero time for NULL.
func (f *fields) time() time.Time {
	b := f.bytes()
	if b == nil {
		return time.Time{}
	}
	if len(b) != 8 {
		f.err = errForm
		return time.Time{}
	}
	return time.UnixMicro(int64(binary.BigEndian.Uint64(b)) + epoch).UTC()
}
