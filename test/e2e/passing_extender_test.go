//go:build bench

package e2e

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"offcut.dev/e2e/cluster"
)

var passFor = flag.String("pass-for", "", "be the extender that does nothing, with this kubeconfig")

// passingExtender passes every node, scores each 0 and binds without looking: the least that an
// extender with these verbs can do.
type passingExtender struct{ client kubernetes.Interface }

// Starts this program again as the extender, with Offcut's account: a process of its own, as Offcut
// is one. Returns where it listens.
func startPassingExtender(t *testing.T, c *cluster.Cluster) (string, *cluster.Process) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	process := cluster.Start(t, c.Folder, "passing", program,
		"-test.run=^TestBeThePassingExtender$",
		"-pass-for="+c.ServiceAccountKubeconfig("offcut", c.APIAddress()))
	return process.WaitLine(t, "listening ", soon), process
}

// No test, but what startPassingExtender starts; it serves until it is ended.
func TestBeThePassingExtender(t *testing.T) {
	if *passFor == "" {
		t.Skip("TestSchedulingRate starts it")
	}
	client, err := clientOf(*passFor)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	extender := &passingExtender{client}
	routes := http.NewServeMux()
	routes.HandleFunc("/v1/filter", answering(passAll))
	routes.HandleFunc("/v1/prioritize", answering(scoreNone))
	routes.HandleFunc("/v1/bind", extender.serveBind)
	fmt.Println("listening", listener.Addr())
	t.Fatal(http.Serve(listener, routes))
}

// Reads a kubeconfig as the harness writes it: JSON, with a token. There is no limit on requests.
func clientOf(path string) (kubernetes.Interface, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server    string `json:"server"`
				Authority []byte `json:"certificate-authority-data"`
			}
		}
		Users []struct {
			User struct{ Token string }
		}
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return nil, err
	}
	if len(config.Clusters) != 1 || len(config.Users) != 1 {
		return nil, fmt.Errorf("%s: one cluster and one user are expected", path)
	}
	return kubernetes.NewForConfig(&rest.Config{
		Host: config.Clusters[0].Cluster.Server, BearerToken: config.Users[0].User.Token, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: config.Clusters[0].Cluster.Authority},
	})
}

func answering(answer func(body []byte) (any, error)) http.HandlerFunc {
	return func(writer http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return // the scheduler has hung up
		}
		reply, err := answer(body)
		if err != nil {
			http.Error(writer, err.Error(), http.StatusBadRequest)
			return
		}
		writer.Header().Set("Content-Type", "application/json")
		json.NewEncoder(writer).Encode(reply)
	}
}

func passAll(body []byte) (any, error) {
	var nodes struct {
		Nodes     json.RawMessage `json:"Nodes,omitempty"`
		NodeNames json.RawMessage `json:"NodeNames,omitempty"`
	}
	err := json.Unmarshal(body, &nodes)
	return nodes, err
}

func scoreNone(body []byte) (any, error) {
	var arguments struct {
		Nodes *struct {
			Items []struct {
				Metadata struct{ Name string }
			}
		}
		NodeNames []string
	}
	err := json.Unmarshal(body, &arguments)
	names := arguments.NodeNames
	if arguments.Nodes != nil {
		for _, node := range arguments.Nodes.Items {
			names = append(names, node.Metadata.Name)
		}
	}
	scores := make([]cluster.HostPriority, 0, len(names))
	for _, name := range names {
		scores = append(scores, cluster.HostPriority{Host: name})
	}
	return scores, err
}

func (e *passingExtender) serveBind(writer http.ResponseWriter, request *http.Request) {
	bind := func(body []byte) (any, error) { return e.bind(request.Context(), body) }
	answering(bind)(writer, request)
}

func (e *passingExtender) bind(ctx context.Context, body []byte) (any, error) {
	var arguments struct {
		PodName, PodNamespace, Node string
		PodUID                      types.UID
	}
	if err := json.Unmarshal(body, &arguments); err != nil {
		return nil, err
	}
	err := e.client.CoreV1().Pods(arguments.PodNamespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{
			Name: arguments.PodName, Namespace: arguments.PodNamespace, UID: arguments.PodUID,
		},
		Target: corev1.ObjectReference{Kind: "Node", Name: arguments.Node},
	}, metav1.CreateOptions{})
	result := struct{ Error string }{}
	if err != nil {
		result.Error = err.Error()
	}
	return result, nil
}
