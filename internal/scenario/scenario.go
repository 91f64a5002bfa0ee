// Package scenario reads and writes golden scenarios. A scenario contains, for each turn, the
// client's request, the requests to the backend, the backend's answers, what the client gets, and
// what the record contains after the turn. Each scenario is one file with these parts in the order
// in which they happen. testdata/README.md describes the parts.
//
// The package has no HTTP, no dialects and no events. The tests that play a scenario have them. The
// package has no global state.
package scenario

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Ext is the extension of a scenario's file.
const Ext = ".txtar"

// A Scenario is one thread of a conversation: its settings, and the parts of each turn. Only Save
// changes it.
type Scenario struct {
	Name string // folder and name, such as langgraph/approve-0.0.43
	Path string // the path of the scenario's file

	Title       string            // what the scenario shows
	Source      string            // where the recorded bytes of the backend are from
	Environment map[string]string // the variables as the file has them, see WithFiles
	Covers      []string          // which cases of Coverable the scenario covers
	Clock       time.Time         // the time of the first turn
	Wait        map[int]time.Duration
	Restart     int      // Holdpoint restarts with its store before this turn; 0 for never
	IDs         []string // the random parts of the ids that Holdpoint makes
	Turns       int      // the number of turns; the first is 1

	archive *Archive
}

// Coverable lists the cases that every dialect must have.
var Coverable = []string{"approve", "deny", "cancel", "two", "again", "plain", "error"}

// List returns the scenarios in testdata whose folder matches pattern (see filepath.Match), ordered
// by folder and name. It returns an error if there are none.
func List(testdata, pattern string) ([]*Scenario, error) {
	entries, err := filepath.Glob(filepath.Join(testdata, pattern, "*"))
	if err != nil {
		return nil, err
	}
	var list []*Scenario
	for _, path := range entries {
		if filepath.Ext(path) != Ext {
			return nil, fmt.Errorf(textNotOneFile, path, "NAME"+Ext)
		}
		s, err := Read(path)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf(textNoScenario, filepath.Join(testdata, pattern))
	}
	slices.SortFunc(list, func(a, b *Scenario) int {
		if c := strings.Compare(a.Folder(), b.Folder()); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list, nil
}

// Read reads a scenario's file. It returns an error for an unknown setting, an unknown part or a
// wrong order of parts, because a test would ignore a misspelt part.
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

// Parse parses the text of a scenario's file. In the scenario that it returns, Name and Path are
// not set.
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

// Folder returns the name of the scenario's folder in testdata: a dialect, contract or auto.
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
				err = fmt.Errorf(textEnv, value)
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
					err = fmt.Errorf(textCovers, Coverable, c)
				}
			}
		default:
			err = fmt.Errorf(textUnknownKey, line)
		}
		if err != nil {
			return err
		}
	}
	if s.Title == "" || s.Source == "" {
		return errors.New(textNoTitle)
	}
	return nil
}

func (s *Scenario) readWait(value string) error {
	for _, w := range strings.Fields(value) { // such as 2=5m, a wait of 5 minutes before turn 2
		at, long, _ := strings.Cut(w, "=")
		turn, err := strconv.Atoi(at)
		if err != nil {
			return fmt.Errorf(textWait, w)
		}
		d, err := time.ParseDuration(long)
		if err != nil {
			return err
		}
		s.Wait[turn] = d
	}
	return nil
}

// readParts counts the turns. It returns an error for a part that belongs to no turn or is out of
// order.
func (s *Scenario) readParts() error {
	for s.has(Request(s.Turns + 1)) {
		s.Turns++
	}
	if s.Turns == 0 {
		return fmt.Errorf(textNoPart, Request(1))
	}
	order := s.order()
	last := -1
	for _, p := range s.archive.Parts {
		at, known := order[p.Name]
		if !known {
			return fmt.Errorf(textOfNoTurn, p.Name)
		}
		if at < last {
			return fmt.Errorf(textPartOrder, p.Name)
		}
		last = at
	}
	return nil
}

// order maps the name of each part that the scenario may have to its position in the file.
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

// Request returns the name of the part that contains the client's request in a turn.
func Request(turn int) string { return fmt.Sprintf("%d.request.json", turn) }

// Head returns the name of the part that contains the request line and the header of the n-th
// request to the backend in a turn. Only scenarios whose backends do not speak AG-UI have such a
// part. n counts from 1.
func Head(turn, n int) string { return exchange(turn, n, "head") }

// Sent returns the name of the part that contains the body of the n-th request to the backend in a
// turn.
func Sent(turn, n int) string { return exchange(turn, n, "json") }

// Answer returns the name of the part that contains the backend's answer to the n-th request in a
// turn. ReadAnswer reads it.
func Answer(turn, n int) string { return exchange(turn, n, "sse") }

// Want returns the name of the part that contains what the client must get in a turn.
func Want(turn int) string { return fmt.Sprintf("%d.want.sse", turn) }

// Store returns the name of the part that contains the thread's open pause after a turn.
func Store(turn int) string { return fmt.Sprintf("%d.store.json", turn) }

func exchange(turn, n int, ext string) string {
	if n == 1 {
		return fmt.Sprintf("%d.upstream.%s", turn, ext)
	}
	return fmt.Sprintf("%d.upstream-%d.%s", turn, n, ext)
}

// Part returns a copy of the data of the part with that name, or nil if there is no such part.
func (s *Scenario) Part(name string) []byte {
	data, ok := s.archive.Part(name)
	if !ok {
		return nil
	}
	return []byte(data)
}

// Answers returns the answers of the backend in a turn, one for each request to the backend. If
// there are none, Holdpoint must not call the backend in the turn.
func (s *Scenario) Answers(turn int) (list [][]byte) {
	for n := 1; s.has(Answer(turn, n)); n++ {
		list = append(list, s.Part(Answer(turn, n)))
	}
	return list
}

// WithFiles returns the environment of the scenario. A variable that ends in _FILE has the name of
// a part in the scenario; WithFiles writes that part into a file, and sets the variable to the path
// of the file. The files are in the directory that the function folder returns. WithFiles calls
// folder once, and only if there is such a variable.
func (s *Scenario) WithFiles(folder func() string) (map[string]string, error) {
	env, dir := maps.Clone(s.Environment), ""
	for variable, part := range s.Environment {
		if !strings.HasSuffix(variable, "_FILE") {
			continue
		}
		if !s.has(part) {
			return nil, fmt.Errorf(textPartMissing, s.Name, variable, part)
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

// Save writes the parts in wants, a map of names to data, into the scenario's file, if they have
// changed. It removes a part whose data are empty. All other bytes of the file stay.
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
			return fmt.Errorf(textFileOfNoTurn, s.Name, name)
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
