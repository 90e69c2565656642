// SPDX-License-Identifier: GPL-2.0-only

// A guest with gVisor's TCP on a tap, which sends or receives bytes and says their SHA-256.
//
//	netstack TAP ADDRESS/BITS GATEWAY send|receive PEER PORT BYTES [CC [sack|nosack]]
//
// It connects to the peer.  CC is reno or cubic, which is what the stack has.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net/netip"
	"os"
	"strconv"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/fdbased"
	"gvisor.dev/gvisor/pkg/tcpip/link/tun"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

const (
	nic      = 1
	mtuBytes = 1500
	// A locally administered address.
	mac = tcpip.LinkAddress("\x02\x00\x00\x00\x67\x01")
	// Of both buffers: more than a path's BDP, so that the CC decides.
	bufferBytes = 4 << 20
	// Of one call.
	chunkBytes = 64 << 10
)

type options struct {
	tap       string
	address   netip.Prefix
	gateway   netip.Addr
	send      bool
	peer      netip.Addr
	port      uint16
	sizeBytes int64
	cc        string
	sack      bool
}

func parse(words []string) (options, error) {
	if len(words) < 7 || len(words) > 9 {
		return options{}, errors.New("usage: netstack TAP ADDRESS/BITS GATEWAY send|receive PEER PORT BYTES [CC [sack|nosack]]")
	}
	words = append(words, []string{"cubic", "sack"}[len(words)-7:]...)
	address, err := netip.ParsePrefix(words[1])
	gateway, err2 := netip.ParseAddr(words[2])
	peer, err3 := netip.ParseAddr(words[4])
	port, err4 := strconv.ParseUint(words[5], 10, 16)
	size, err5 := strconv.ParseInt(words[6], 10, 64)
	return options{
		tap: words[0], address: address, gateway: gateway, send: words[3] == "send",
		peer: peer, port: uint16(port), sizeBytes: size, cc: words[7], sack: words[8] == "sack",
	}, errors.Join(err, err2, err3, err4, err5)
}

func failed(what string, err tcpip.Error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s", what, err)
}

// newStack is a stack with one device, the tap, and a way out by the gateway.
func newStack(o options) (*stack.Stack, error) {
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, arp.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol},
	})
	fd, err := tun.OpenTAP(o.tap)
	if err != nil {
		return nil, fmt.Errorf("tap %s: %w", o.tap, err)
	}
	link, err := fdbased.New(&fdbased.Options{
		FDs: []int{fd}, MTU: mtuBytes, EthernetHeader: true, Address: mac,
	})
	if err != nil {
		return nil, fmt.Errorf("tap %s: %w", o.tap, err)
	}
	if err := failed("tap", s.CreateNIC(nic, link)); err != nil {
		return nil, err
	}
	own := tcpip.ProtocolAddress{
		Protocol: ipv4.ProtocolNumber,
		AddressWithPrefix: tcpip.AddressWithPrefix{
			Address:   tcpip.AddrFrom4(o.address.Addr().As4()),
			PrefixLen: o.address.Bits(),
		},
	}
	if err := failed("address", s.AddProtocolAddress(nic, own, stack.AddressProperties{})); err != nil {
		return nil, err
	}
	s.SetRouteTable([]tcpip.Route{
		{Destination: own.AddressWithPrefix.Subnet(), NIC: nic},
		{Destination: header.IPv4EmptySubnet, Gateway: tcpip.AddrFrom4(o.gateway.As4()), NIC: nic},
	})
	return s, tune(s, o)
}

func tune(s *stack.Stack, o options) error {
	cc := tcpip.CongestionControlOption(o.cc)
	sack := tcpip.TCPSACKEnabled(o.sack)
	sending := tcpip.TCPSendBufferSizeRangeOption{Min: 4096, Default: bufferBytes, Max: bufferBytes}
	receiving := tcpip.TCPReceiveBufferSizeRangeOption{Min: 4096, Default: bufferBytes, Max: bufferBytes}
	for what, option := range map[string]tcpip.SettableTransportProtocolOption{
		"CC " + o.cc: &cc, "SACK": &sack, "send buffer": &sending, "receive buffer": &receiving,
	} {
		if err := failed(what, s.SetTransportProtocolOption(tcp.ProtocolNumber, option)); err != nil {
			return err
		}
	}
	return nil
}

// transfer moves the bytes; their SHA-256.
func transfer(s *stack.Stack, o options) ([]byte, error) {
	to := tcpip.FullAddress{NIC: nic, Addr: tcpip.AddrFrom4(o.peer.As4()), Port: o.port}
	connection, err := gonet.DialContextTCP(context.Background(), s, to, ipv4.ProtocolNumber)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	chunk := make([]byte, chunkBytes)
	if o.send {
		source := io.TeeReader(io.LimitReader(rand.New(rand.NewSource(1)), o.sizeBytes), sum)
		_, err = io.CopyBuffer(connection, source, chunk)
	} else {
		_, err = io.CopyBuffer(sum, io.LimitReader(connection, o.sizeBytes), chunk)
	}
	if err != nil {
		return nil, err
	}
	if err := connection.CloseWrite(); err != nil {
		return nil, err
	}
	// Until the peer has closed, it may still want repeats.
	_, err = io.Copy(io.Discard, connection)
	return sum.Sum(nil), err
}

func main() {
	o, err := parse(os.Args[1:])
	var sum []byte
	var s *stack.Stack
	if err == nil {
		s, err = newStack(o)
	}
	if err == nil {
		sum, err = transfer(s, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "netstack:", err)
		os.Exit(1)
	}
	fmt.Printf("%x\n", sum)
}
