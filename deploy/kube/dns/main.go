// Holdpoint finds its agent and its Redis by this DNS server, which is the cluster's own, in the
// scenes (tests) of deploy/kube:
//
//	dns LISTEN API CA CERT KEY
//
// It answers queries for the names of the cluster's Services. Every second it reads Services and
// EndpointSlices from the API server. The name of a Service leads to the Service's own addresses.
// The name of a headless Service leads to the addresses of its ready endpoints. Any other name is
// unknown, and the server forwards no query.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// A list is a list of Services or EndpointSlices, with those members that this program reads.
type list struct {
	Items []struct {
		Metadata struct {
			Name, Namespace string
			Labels          map[string]string
		}
		Spec struct {
			ClusterIP  string
			ClusterIPs []netip.Addr
		}
		Endpoints []struct {
			Addresses  []netip.Addr
			Conditions struct{ Ready *bool }
		}
	}
}

func main() {
	if len(os.Args) != 6 {
		log.Fatal("dns: want LISTEN API CA CERT KEY")
	}
	listen, api := os.Args[1], os.Args[2]
	ca, err := os.ReadFile(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	own, err := tls.LoadX509KeyPair(os.Args[4], os.Args[5])
	if err != nil {
		log.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{own}}}}
	get := func(path string) (list, error) {
		var l list
		resp, err := client.Get(api + path)
		if err != nil {
			return l, err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return l, fmt.Errorf("%s: %s", path, resp.Status)
		}
		return l, json.NewDecoder(resp.Body).Decode(&l)
	}
	var names atomic.Pointer[map[string][]netip.Addr]
	names.Store(&map[string][]netip.Addr{})
	go func() {
		for ; ; time.Sleep(time.Second) {
			services, err := get("/api/v1/services")
			if err != nil {
				log.Print(err)
				continue
			}
			slices, err := get("/apis/discovery.k8s.io/v1/endpointslices")
			if err != nil {
				log.Print(err)
				continue
			}
			next := read(services, slices)
			names.Store(&next)
		}
	}()
	conn, err := net.ListenPacket("udp", listen)
	if err != nil {
		log.Fatal(err)
	}
	buf := make([]byte, 1500)
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			log.Fatal(err)
		}
		if out := answer(buf[:n], *names.Load()); out != nil {
			if _, err := conn.WriteTo(out, from); err != nil {
				log.Print(err)
			}
		}
	}
}

// read returns the addresses of each DNS name.
func read(services, slices list) map[string][]netip.Addr {
	names := map[string][]netip.Addr{}
	for _, s := range services.Items {
		key := s.Metadata.Name + "." + s.Metadata.Namespace + ".svc.cluster.local"
		if s.Spec.ClusterIP != "None" {
			names[key] = s.Spec.ClusterIPs
			continue
		}
		for _, e := range slices.Items {
			if e.Metadata.Namespace != s.Metadata.Namespace || e.Metadata.Labels["kubernetes.io/service-name"] != s.Metadata.Name {
				continue
			}
			for _, p := range e.Endpoints {
				if p.Conditions.Ready == nil || *p.Conditions.Ready {
					names[key] = append(names[key], p.Addresses...)
				}
			}
		}
	}
	return names
}

const (
	header   = 12
	typeA    = 1
	typeAAAA = 28
)

// answer returns the reply to a DNS query (RFC 1035, section 4), or nil if the query cannot be
// parsed.
func answer(query []byte, names map[string][]netip.Addr) []byte {
	if len(query) < header || binary.BigEndian.Uint16(query[4:]) == 0 {
		return nil
	}
	var labels []string
	at := header
	for {
		if at >= len(query) {
			return nil
		}
		n := int(query[at])
		at++
		if n == 0 {
			break
		}
		if n > 63 || at+n > len(query) {
			return nil
		}
		labels = append(labels, strings.ToLower(string(query[at:at+n])))
		at += n
	}
	if at+4 > len(query) {
		return nil
	}
	kind := binary.BigEndian.Uint16(query[at:])
	at += 4
	out := append([]byte(nil), query[:at]...)
	addresses, known := names[strings.Join(labels, ".")]
	out[2] |= 0x84 // an authoritative response
	out[3] = 0x80  // recursion available
	if !known {
		out[3] |= 3 // NXDOMAIN
	}
	count := uint16(0)
	for _, a := range addresses {
		if (kind == typeA) != a.Is4() || kind != typeA && kind != typeAAAA {
			continue
		}
		count++
		out = append(out, 0xc0, header) // a pointer to the name of the question
		out = binary.BigEndian.AppendUint16(out, kind)
		out = append(out, 0, 1, 0, 0, 0, 5) // class IN, TTL of five seconds
		bytes := a.AsSlice()
		out = binary.BigEndian.AppendUint16(out, uint16(len(bytes)))
		out = append(out, bytes...)
	}
	binary.BigEndian.PutUint16(out[4:], 1)
	binary.BigEndian.PutUint16(out[6:], count)
	binary.BigEndian.PutUint32(out[8:], 0)
	return out
}
