package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"holdpoint/cmd/holdpoint/internal/doctor"
	"holdpoint/internal/agui"
	"holdpoint/internal/clients"
	"holdpoint/internal/edge/headers"
	"holdpoint/internal/tanstack"
)

// doctorFlags has the options of holdpoint doctor.
type doctorFlags struct {
	json    bool
	probe   doctor.Probe
	timeout time.Duration
	tools   string
	version bool // -protocol-version was given
	errs    []error
}

// doctorCommand runs `holdpoint doctor`. It returns 0 if Holdpoint can translate the backend's
// response, or if the response has nothing to translate. It returns 1 if the response has something
// that Holdpoint cannot translate, and 2 if there was no response to examine.
func doctorCommand(args []string, t terminal) int {
	f := doctorFlags{probe: doctor.Probe{Header: http.Header{}}}
	flags := flag.NewFlagSet("doctor", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.BoolVar(&f.json, "json", false, "")
	flags.StringVar(&f.probe.Message, "message", "", "")
	flags.Func("header", "", func(line string) error { f.header(line); return nil })
	flags.Func("header-file", "", func(file string) error { f.headerFile(file); return nil })
	flags.DurationVar(&f.timeout, "timeout", time.Minute, "")
	flags.StringVar(&f.probe.ProtocolVersion, "protocol-version", "1.0", "")
	flags.StringVar(&f.probe.Dialect, "dialect", "", "")
	flags.StringVar(&f.probe.Assistant, "assistant", "", "")
	flags.StringVar(&f.tools, "tools", "", "")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(t.out, doctorUsage)
		return exitOK
	case err != nil:
		return doctorMisuse(t.err, err)
	case flags.NArg() != 1:
		return doctorMisuse(t.err, fmt.Errorf(textDoctorArguments, flags.NArg()))
	case f.timeout <= 0:
		return doctorMisuse(t.err, fmt.Errorf(textDoctorTimeout, f.timeout))
	}
	flags.Visit(func(given *flag.Flag) { f.version = f.version || given.Name == "protocol-version" })
	if err := errors.Join(append(f.errs, f.readTools())...); err != nil {
		return doctorMisuse(t.err, err)
	}
	report, err := f.examine(flags.Arg(0), t.in)
	if err != nil {
		fmt.Fprintln(t.err, "holdpoint: doctor:", err)
		return exitMisuse
	}
	if f.json {
		out := json.NewEncoder(t.out)
		out.SetIndent("", "  ")
		err = out.Encode(report)
	} else {
		err = report.Print(t.out)
	}
	if err != nil {
		fmt.Fprintln(t.err, "holdpoint: doctor:", err)
		return exitMisuse
	}
	switch report.Verdict {
	case doctor.CannotTranslate:
		return exitError
	case doctor.NoStream:
		return exitMisuse
	}
	return exitOK
}

func doctorMisuse(w io.Writer, err error) int {
	fmt.Fprintf(w, "holdpoint: %v\n\n%s\n", err, doctorUsage)
	return exitMisuse
}

func (f *doctorFlags) header(line string) {
	name, value, err := headers.ReadLine(line)
	if err != nil {
		f.errs = append(f.errs, fmt.Errorf("-header: %w", err))
		return
	}
	f.probe.Header.Add(name, value)
}

func (f *doctorFlags) headerFile(file string) {
	more, err := headers.Read(file)
	if err != nil {
		f.errs = append(f.errs, fmt.Errorf("-header-file: %w", err))
		return
	}
	for name, values := range more {
		f.probe.Header[name] = append(f.probe.Header[name], values...)
	}
}

// readTools reads the file of -tools. The file contains a JSON array with the tools that the client
// declares, or a whole request of that client. A whole request also sets the client's protocol
// version, unless -protocol-version is given.
func (f *doctorFlags) readTools() error {
	if f.tools == "" {
		return nil
	}
	text, err := os.ReadFile(f.tools)
	if err != nil {
		return fmt.Errorf("-tools: %w", err)
	}
	var request struct {
		Tools           []json.RawMessage `json:"tools"`
		ProtocolVersion string            `json:"protocolVersion"`
	}
	whole := json.Unmarshal(text, &request.Tools) != nil
	if whole && (json.Unmarshal(text, &request) != nil || request.Tools == nil && !showsClient(text)) {
		return fmt.Errorf(textDoctorTools, f.tools)
	}
	if whole && !f.version {
		f.probe.ProtocolVersion = request.ProtocolVersion
	}
	f.probe.TanStack = whole && tanstack.IsClientBody(text)
	if whole {
		f.probe.Request = text
	}
	f.probe.Tools, err = json.Marshal(request.Tools)
	return err
}

// showsClient reports whether text is a request by which the client can be recognized. Such a
// request may lack tools, because .NET clients leave the field out if they have none.
func showsClient(text []byte) bool {
	in, is, err := agui.ParseInput(text)
	return err == nil && is && clients.Of(&in) != nil
}

// examine reads the backend's response from source, and returns the report on it. The parameter
// source is an address, the name of a file, or - for in.
func (f *doctorFlags) examine(source string, in io.Reader) (*doctor.Report, error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	var a doctor.Answer
	var err error
	switch {
	case source == "-":
		stop() // so that an interrupt ends the process while it waits for the pipe
		a, err = doctor.Read(in)
	case strings.Contains(source, "://"):
		if f.probe.URL, err = doctor.Address(source); err != nil {
			return nil, err
		}
		shown := *f.probe.URL
		if shown.RawQuery != "" {
			shown.RawQuery = "..." // the query may contain a key
		}
		source = shown.Redacted()
		sent, cancel := context.WithTimeout(ctx, f.timeout)
		a, err = doctor.Fetch(sent, f.probe)
		cancel()
	default:
		a, err = readRecording(source)
	}
	if err != nil {
		return nil, err
	}
	report, err := doctor.Examine(context.Background(), a, f.probe.Options)
	if err != nil {
		return nil, err
	}
	report.Source = source
	return report, nil
}

func readRecording(name string) (doctor.Answer, error) {
	file, err := os.Open(name)
	if err != nil {
		return doctor.Answer{}, err
	}
	defer file.Close()
	return doctor.Read(file)
}
