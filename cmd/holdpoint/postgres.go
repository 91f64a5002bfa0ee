package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/url"

	"github.com/caarlos0/env/v11"

	"holdpoint/store/postgres"
	"holdpoint/translate/dialects"
)

// postgresConfig reads the address with the password, wherever that stands.
func (c *config) postgresConfig(address *url.URL) (*postgres.Config, error) {
	password, err := c.storePassword(postgres.HasPassword(address))
	if err != nil {
		return nil, err
	}
	return postgres.Parse(c.Store.text, password)
}

func checkPostgres(c *config, address *url.URL) error {
	_, err := c.postgresConfig(address)
	return err
}

func openPostgres(c *config, address *url.URL, logger *slog.Logger) (openStore, error) {
	p, err := c.postgresConfig(address)
	if err != nil {
		return openStore{}, err
	}
	s, err := postgres.Open(p, c.engineOptions(logger))
	if err != nil {
		return openStore{}, err
	}
	return openStore{s, s.Stop, s.SetKeys, func() error {
		fresh, err := c.postgresConfig(address)
		if err == nil {
			p.Login(fresh)
		}
		return err
	}, s.Forgets}, nil
}

// printSchema is `holdpoint store schema`. It needs no configuration: of HOLDPOINT_STORE it takes
// the schema in which the tables are.
func printSchema(environ []string, list dialects.List, out, complaints io.Writer) int {
	c := newConfig(list)
	environment := env.ToMap(environ)
	c.group().Read(environment)
	if environment[prefix+"STORE"] == "" {
		fmt.Fprint(out, postgres.Schema(nil))
		return exitOK
	}
	p, err := postgres.Parse(c.Store.text, "")
	if err != nil {
		fmt.Fprintf(complaints, "config: %v\n", c.group().Wrong("STORE", err))
		return exitMisuse
	}
	fmt.Fprint(out, postgres.Schema(p))
	return exitOK
}
