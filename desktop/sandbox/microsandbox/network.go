package microsandbox

import (
	"net"
	"regexp"
	"strconv"
	"strings"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// hostName is how a VM calls the machine it runs on.
const hostName = "host.microsandbox.internal"

// network says in msb's words what a Sandbox may reach.
func network(n sandbox.Network, relayPort uint16) ([]string, error) {
	var rules []string
	if relayPort != 0 {
		rules = append(rules, "allow@host:tcp:"+strconv.Itoa(int(relayPort)))
	}
	var args []string
	switch n.Policy {
	case claudehub.NetworkOpen, "":
		// Names of the machine's own network have addresses of that network, which msb takes for an attack otherwise.
		return []string{"--net", "all", "--no-dns-rebind-protection"}, nil
	case claudehub.NetworkInternet:
		args = []string{"--net", "public"}
	case claudehub.NetworkAllowList:
		args = []string{"--no-net"}
		if len(n.Allow) > 0 {
			rules = append(rules, "allow@dns")
		}
		for _, entry := range n.Allow {
			rule, err := allow(entry)
			if err != nil {
				return nil, err
			}
			rules = append(rules, rule)
		}
	default:
		return nil, claudehub.Errorf(claudehub.Invalid, "%q is no network policy that this Runner knows. Update the Runner.", n.Policy)
	}
	for _, r := range rules {
		args = append(args, "--net-rule", r)
	}
	return args, nil
}

var hostShape = regexp.MustCompile(`^(\*\.)?([A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.)*[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$`)

// allow is the rule for one entry of an allow-list: a name, "*.name", or an address, each with an optional :port.
func allow(entry string) (string, error) {
	host, port := strings.TrimSpace(entry), ""
	if h, p, err := net.SplitHostPort(host); err == nil {
		host, port = h, p
	}
	bad := claudehub.Errorf(claudehub.Invalid, "%q cannot be allowed. Write a host name, \"*.example.org\" or an address, with an optional :port.", entry)
	if port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return "", bad
		}
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	if ip == nil && (len(host) > 253 || !hostShape.MatchString(host)) {
		return "", bad
	}
	if strings.HasPrefix(host, "*.") && strings.Count(host, ".") < 2 {
		return "", claudehub.Errorf(claudehub.Invalid, "%q would allow a whole top-level domain. Write at least \"*.example.org\".", entry)
	}
	target := strings.ToLower(host)
	if target == hostName {
		if port == "" {
			return "", claudehub.Errorf(claudehub.Invalid, "%q would allow every service of the Runner's machine. Name the port, as in \"%s:5432\".", entry, hostName)
		}
		target = "host" // msb knows this name by no rule for names
	}
	if ip != nil {
		target = ip.String()
		if ip.To4() == nil {
			target = "[" + target + "]"
		}
	}
	if port == "" {
		return "allow@" + target, nil
	}
	return "allow@" + target + ":tcp:" + port, nil
}

// needsRoute tells that a Sandbox is of no use without a network.
func needsRoute(spec sandbox.Spec) bool {
	return spec.Network.Policy != claudehub.NetworkAllowList || len(spec.Network.Allow) > 0 || spec.Relay.Socket == "" && spec.Relay.Port != 0
}

// routed tells whether this machine has an IPv4 route out. Without one msb gives its VMs no network at all, whatever they
// may reach; it looks in the same way. No packet is sent.
func routed() bool {
	conn, err := net.Dial("udp4", "192.0.2.1:443") //nolint:noctx // it sends nothing and waits for nothing
	if err != nil {
		return false
	}
	conn.Close()
	return true
}
