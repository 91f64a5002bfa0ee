// Package scenario reads and writes golden scenarios: what a client sends, what goes to the
// backend, what it answers, what the client gets, and what is kept, turn by turn. Each scenario is
// one file, read from top to bottom in the order in which things happen. testdata/README.md says
// what its parts are.
//
// It deliberately knows no HTTP, no dialect and no event: who plays a scenario does. It keeps
// nothing of what it has read.
package scenario

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Ext is the end of the name of a scenario's file.
const Ext = ".txtar"

// A Scenario is one thread: settings, and the wires of its turns. It is read-only except for Save.
type Scenario struct {
	Name string // folder and name, langgraph/approve-0.0.43
	Path string // of its file

	Title       string            // what it shows
	Source      string            // where the backend's bytes come from
	Environment map[string]string // variables as they are written, see WithFiles
	Covers      []string          // the cases of every dialect that it is, see Coverable
	Clock       time.Time         // of the first turn
	Wait        map[int]time.Duration
	Restart     int      // the turn before which Holdpoint is started anew with its store, 0 for none
	IDs         []string // the random parts of minted ids
	Turns       int      // they count from 1

	archive *Archive
}

// Coverable are the cases that every dialect must have.
var Coverable = []string{"approve", "deny", "cancel", "two", "again", "plain", "error"}

// List reads the scenarios of testdata whose folder matches a pattern of filepath.Match, ordered
// by folder and name. None at all is an error.
func List(testdata, pattern string) ([]*Scenario, error) {
	entries, err := filepath.Glob(filepath.Join(testdata, pattern, "*"))
	if err != nil {
		return nil, err
	}
	var list []*Scenario
	for _, path := range entries {
		if filepath.Ext(path) != Ext {
			return nil, fmt.Errorf("%s: a scenario is one file, %s", path, "NAME"+Ext)
		}
		s, err := Read(path)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no scenario in %s", filepath.Join(testdata, pattern))
	}
	slices.SortFunc(list, func(a, b *Scenario) int {
		if c := strings.Compare(a.Folder(), b.Folder()); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list, nil
}

// Read reads a scenario's file. A line, a part or an order that the format does not know is an
// error: what is misspelt would show nothing.
func Read(path string) (*Scenario, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s, err := Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s.Path = path
	folder, name := filepath.Split(strings.TrimSuffix(path, Ext))
	s.Name = filepath.Base(folder) + "/" + name
	return s, nil
}

// Parse reads the text of a scenario's file. The scenario has no name and no path.
func Parse(text string) (*Scenario, error) {
	archive, err := ParseArchive(text)
	if err != nil {
		return nil, err
	}
	s := &Scenario{archive: archive}
	if err := s.readSettings(archive.Comment); err != nil {
		return nil, err
	}
	return s, s.readParts()
}

// Folder is the folder of testdata that it is in: a dialect, contract or auto.
func (s *Scenario) Folder() string {
	folder, _, _ := strings.Cut(s.Name, "/")
	return folder
}

func (s *Scenario) readSettings(text string) (err error) {
	s.Clock = time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)
	s.Environment, s.Wait = map[string]string{}, map[int]time.Duration{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch key {
		case "title":
			s.Title = value
		case "source":
			s.Source = value
		case "clock":
			s.Clock, err = time.Parse(time.RFC3339, value)
		case "env":
			name, v, ok := strings.Cut(value, "=")
			if !ok {
				err = fmt.Errorf("env: want NAME=value, not %q", value)
			}
			s.Environment[name] = v
		case "ids":
			s.IDs = strings.Fields(value)
		case "wait":
			err = s.readWait(value)
		case "restart":
			s.Restart, err = strconv.Atoi(value)
		case "covers":
			s.Covers = strings.Fields(value)
			for _, c := range s.Covers {
				if !slices.Contains(Coverable, c) {
					err = fmt.Errorf("covers: want some of %v, not %q", Coverable, c)
				}
			}
		default:
			err = fmt.Errorf("unknown key in line %q", line)
		}
		if err != nil {
			return err
		}
	}
	if s.Title == "" || s.Source == "" {
		return fmt.Errorf("title and source are missing: what it shows, and where its bytes come from")
	}
	return nil
}

func (s *Scenario) readWait(value string) error {
	for _, w := range strings.Fields(value) { // 2=5m: before turn 2
		at, long, _ := strings.Cut(w, "=")
		turn, err := strconv.Atoi(at)
		if err != nil {
			return fmt.Errorf("wait: want turn=duration, not %q", w)
		}
		d, err := time.ParseDuration(long)
		if err != nil {
			return err
		}
		s.Wait[turn] = d
	}
	return nil
}

// readParts counts the turns, and finds parts that no turn has and parts that are out of order.
func (s *Scenario) readParts() error {
	for s.has(Request(s.Turns + 1)) {
		s.Turns++
	}
	if s.Turns == 0 {
		return fmt.Errorf("no part %s", Request(1))
	}
	order := s.order()
	last := -1
	for _, p := range s.archive.Parts {
		at, known := order[p.Name]
		if !known {
			return fmt.Errorf("%s belongs to no turn", p.Name)
		}
		if at < last {
			return fmt.Errorf("%s must stand before the part before it: parts stand in the order in which things happen", p.Name)
		}
		last = at
	}
	return nil
}

// order returns which parts there may be, and where each stands among them.
func (s *Scenario) order() map[string]int {
	var names []string
	for _, variable := range slices.Sorted(maps.Keys(s.Environment)) {
		if strings.HasSuffix(variable, "_FILE") {
			names = append(names, s.Environment[variable])
		}
	}
	for turn := 1; turn <= s.Turns; turn++ {
		names = append(names, Request(turn))
		for n := 1; s.has(Answer(turn, n)); n++ {
			names = append(names, Head(turn, n), Sent(turn, n), Answer(turn, n))
		}
		names = append(names, Want(turn), Store(turn))
	}
	order := map[string]int{}
	for at, name := range names {
		order[name] = at
	}
	return order
}

func (s *Scenario) has(part string) bool {
	_, ok := s.archive.Part(part)
	return ok
}

// Request is the name of the part with what a client sends in a turn.
func Request(turn int) string { return fmt.Sprintf("%d.request.json", turn) }

// Head is the name of the part with the first line and the headers of the n-th request to the
// backend in a turn. It is there if the backend does not speak AG-UI. n counts from 1.
func Head(turn, n int) string { return exchange(turn, n, "head") }

// Sent is the name of the part with the body of the n-th request to the backend in a turn.
func Sent(turn, n int) string { return exchange(turn, n, "json") }

// Answer is the name of the part with what the backend answers to the n-th request in a turn, in
// the form that ReadAnswer takes.
func Answer(turn, n int) string { return exchange(turn, n, "sse") }

// Want is the name of the part with what the client gets in a turn.
func Want(turn int) string { return fmt.Sprintf("%d.want.sse", turn) }

// Store is the name of the part with what the thread waits for after a turn.
func Store(turn int) string { return fmt.Sprintf("%d.store.json", turn) }

func exchange(turn, n int, ext string) string {
	if n == 1 {
		return fmt.Sprintf("%d.upstream.%s", turn, ext)
	}
	return fmt.Sprintf("%d.upstream-%d.%s", turn, n, ext)
}

// Part returns the bytes of a part, the caller's own, and nil if there is none.
func (s *Scenario) Part(name string) []byte {
	data, ok := s.archive.Part(name)
	if !ok {
		return nil
	}
	return []byte(data)
}

// Answers returns what the backend answers in a turn, one for each exchange. None means that it
// must not be called.
func (s *Scenario) Answers(turn int) (list [][]byte) {
	for n := 1; s.has(Answer(turn, n)); n++ {
		list = append(list, s.Part(Answer(turn, n)))
	}
	return list
}

// WithFiles returns the environment with the paths of files in place of the names of parts, in the
// variables that end in _FILE. folder is called once if there is such a variable, and returns where
// the files are written.
func (s *Scenario) WithFiles(folder func() string) (map[string]string, error) {
	env, dir := maps.Clone(s.Environment), ""
	for variable, part := range s.Environment {
		if !strings.HasSuffix(variable, "_FILE") {
			continue
		}
		if !s.has(part) {
			return nil, fmt.Errorf("%s: %s names the part %q, which is missing", s.Name, variable, part)
		}
		if dir == "" {
			dir = folder()
		}
		env[variable] = filepath.Join(dir, filepath.Base(part))
		if err := os.WriteFile(env[variable], s.Part(part), 0o600); err != nil {
			return nil, err
		}
	}
	return env, nil
}

// Save writes want parts into the scenario's file, and nothing if they are there already. An empty
// part is left out. All else in the file keeps its bytes.
func (s *Scenario) Save(wants map[string][]byte) error {
	order := s.order()
	var parts []Part
	for _, p := range s.archive.Parts {
		if data, is := wants[p.Name]; is && len(data) == 0 {
			continue
		} else if is {
			p.Data = string(data)
		}
		parts = append(parts, p)
	}
	for name, data := range wants {
		at, known := order[name]
		if !known {
			return fmt.Errorf("%s: %s belongs to no turn", s.Name, name)
		}
		if len(data) == 0 || s.has(name) {
			continue
		}
		before := slices.IndexFunc(parts, func(p Part) bool { return order[p.Name] > at })
		if before < 0 {
			before = len(parts)
		}
		parts = slices.Insert(parts, before, Part{name, string(data)})
	}
	if slices.Equal(parts, s.archive.Parts) {
		return nil
	}
	s.archive = &Archive{s.archive.Comment, parts}
	return os.WriteFile(s.Path, []byte(s.archive.String()), 0o644)
}
