// The usual extender, to measure against: net/http, encoding/json and a map of free GPUs. It does
// the least that a filter and a prioritize must do: whole GPUs are counted, nothing else is judged,
// nothing is kept, nothing is bound.
//
//	baseline -snapshot cluster.json
//
// It reads what `offcut serve --snapshot` reads, and says where it listens as that does.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
)

const gpu = "nvidia.com/gpu"

// As much of the API's types as extenders read with them: all of these members go through the
// decoder, and with whole nodes back through the encoder. A quantity is a plain string here, which
// is cheaper than the real one.
type (
	meta struct {
		Name            string            `json:"name,omitempty"`
		Namespace       string            `json:"namespace,omitempty"`
		UID             string            `json:"uid,omitempty"`
		ResourceVersion string            `json:"resourceVersion,omitempty"`
		Labels          map[string]string `json:"labels,omitempty"`
		Annotations     map[string]string `json:"annotations,omitempty"`
	}
	requirements struct {
		Requests map[string]string `json:"requests,omitempty"`
		Limits   map[string]string `json:"limits,omitempty"`
	}
	container struct {
		Name      string       `json:"name"`
		Image     string       `json:"image,omitempty"`
		Resources requirements `json:"resources"`
	}
	pod struct {
		Metadata meta `json:"metadata"`
		Spec     struct {
			Containers     []container       `json:"containers"`
			InitContainers []container       `json:"initContainers,omitempty"`
			NodeName       string            `json:"nodeName,omitempty"`
			NodeSelector   map[string]string `json:"nodeSelector,omitempty"`
		} `json:"spec"`
	}
	taint struct {
		Key    string `json:"key"`
		Value  string `json:"value,omitempty"`
		Effect string `json:"effect"`
	}
	condition struct {
		Type               string  `json:"type"`
		Status             string  `json:"status"`
		Reason             string  `json:"reason,omitempty"`
		Message            string  `json:"message,omitempty"`
		LastHeartbeatTime  *string `json:"lastHeartbeatTime"`
		LastTransitionTime *string `json:"lastTransitionTime"`
	}
	address struct {
		Type    string `json:"type"`
		Address string `json:"address"`
	}
	image struct {
		Names     []string `json:"names"`
		SizeBytes int64    `json:"sizeBytes,omitempty"`
	}
	node struct {
		Metadata meta `json:"metadata"`
		Spec     struct {
			PodCIDR       string  `json:"podCIDR,omitempty"`
			ProviderID    string  `json:"providerID,omitempty"`
			Unschedulable bool    `json:"unschedulable,omitempty"`
			Taints        []taint `json:"taints,omitempty"`
		} `json:"spec"`
		Status struct {
			Capacity    map[string]string `json:"capacity,omitempty"`
			Allocatable map[string]string `json:"allocatable,omitempty"`
			Conditions  []condition       `json:"conditions,omitempty"`
			Addresses   []address         `json:"addresses,omitempty"`
			Images      []image           `json:"images,omitempty"`
			NodeInfo    map[string]string `json:"nodeInfo,omitempty"`
		} `json:"status"`
	}
	nodeList struct {
		Metadata struct{} `json:"metadata"`
		Items    []node   `json:"items"`
	}
	extenderArgs struct {
		Pod       *pod
		Nodes     *nodeList
		NodeNames *[]string
	}
	filterResult struct {
		Nodes                      *nodeList
		NodeNames                  *[]string
		FailedNodes                map[string]string
		FailedAndUnresolvableNodes map[string]string
		Error                      string
	}
	hostPriority struct {
		Host  string
		Score int64
	}
)

type server struct{ free map[string]int }

func (s *server) names(args *extenderArgs) []string {
	if args.NodeNames != nil {
		return *args.NodeNames
	}
	var names []string
	if args.Nodes != nil {
		for i := range args.Nodes.Items {
			names = append(names, args.Nodes.Items[i].Metadata.Name)
		}
	}
	return names
}

func (s *server) filter(args *extenderArgs) any {
	wants := asked(args.Pod)
	result := filterResult{FailedAndUnresolvableNodes: map[string]string{}}
	kept := []string{}
	keptNodes := &nodeList{Items: []node{}}
	for i, name := range s.names(args) {
		free, known := s.free[name]
		switch {
		case !known:
			result.FailedAndUnresolvableNodes[name] = "node is not known"
		case free < wants:
			result.FailedAndUnresolvableNodes[name] = "not enough free GPUs"
		case args.Nodes != nil && args.NodeNames == nil:
			keptNodes.Items = append(keptNodes.Items, args.Nodes.Items[i])
		default:
			kept = append(kept, name)
		}
	}
	if args.NodeNames != nil {
		result.NodeNames = &kept
	} else {
		result.Nodes = keptNodes
	}
	return result
}

func (s *server) prioritize(args *extenderArgs) any {
	list := []hostPriority{}
	for _, name := range s.names(args) {
		list = append(list, hostPriority{Host: name, Score: int64(8-s.free[name]) * 10 / 8})
	}
	return list
}

func asked(p *pod) int {
	wants := 0
	if p == nil {
		return wants
	}
	for _, c := range p.Spec.Containers {
		count, _ := strconv.Atoi(c.Resources.Limits[gpu])
		wants += count
	}
	return wants
}

func verb(answer func(*extenderArgs) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var args extenderArgs
		if err := json.NewDecoder(r.Body).Decode(&args); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer(&args)); err != nil {
			log.Print(err)
		}
	}
}

// What each node has free: its GPUs without those of the pods on it.
func freeGPUs(path string) (map[string]int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	free := map[string]int{}
	for _, item := range list.Items {
		var object struct{ Kind string }
		if err := json.Unmarshal(item, &object); err != nil {
			return nil, err
		}
		switch object.Kind {
		case "Node":
			var n node
			if err := json.Unmarshal(item, &n); err != nil {
				return nil, err
			}
			count, _ := strconv.Atoi(n.Status.Allocatable[gpu])
			free[n.Metadata.Name] += count
		case "Pod":
			var p pod
			if err := json.Unmarshal(item, &p); err != nil {
				return nil, err
			}
			if p.Spec.NodeName != "" {
				free[p.Spec.NodeName] -= asked(&p)
			}
		}
	}
	return free, nil
}

func main() {
	snapshot := flag.String("snapshot", "", "a List of nodes and pods, JSON")
	flag.Parse()
	free, err := freeGPUs(*snapshot)
	if err != nil {
		log.Fatal(err)
	}
	s := &server{free: free}
	http.HandleFunc("/v1/filter", verb(s.filter))
	http.HandleFunc("/v1/prioritize", verb(s.prioritize))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening extender %s\nready\n", listener.Addr())
	log.Fatal(http.Serve(listener, nil))
}
