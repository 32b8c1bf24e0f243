package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Namespace is where Offcut itself lives: its service account and its Lease.
const Namespace = "offcut-system"

// How long a server may take until it is ready. It takes seconds; a busy machine makes it many.
const readyTimeout = 3 * time.Minute

const auditPolicy = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy",
"omitStages": ["RequestReceived"], "omitManagedFields": true, "rules": [{"level": "Metadata"}]}`

// Cluster is a control plane of one version, with the observer and the stub kubelet of this test.
type Cluster struct {
	Version string
	Client  kubernetes.Interface // an administrator's
	Pods    *PodTracker
	Folder  string // logs and configurations; stays when the test fails

	t          testing.TB
	authority  *authority
	etcdPort   int
	apiPort    int
	apiFlags   []string
	apiServer  *Process
	kubeconfig string // the administrator's
}

// New starts etcd and kube-apiserver, and the stub kubelet. All of it ends with the test.
func New(t testing.TB, kubelet KubeletOptions) *Cluster {
	t.Helper()
	c := &Cluster{Version: os.Getenv("OFFCUT_E2E_KUBERNETES"), t: t}
	if c.Version == "" {
		t.Fatal("OFFCUT_E2E_KUBERNETES names no version: start these tests with test/e2e/run")
	}
	c.Folder = runFolder(t)
	c.authority = newAuthority(t)
	c.startEtcd()
	c.prepareAPIServer()
	c.StartAPIServer()
	c.kubeconfig = c.clientKubeconfig("admin", c.APIAddress(), "system:masters")
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host: "https://" + c.APIAddress(), QPS: 1000, Burst: 2000,
		TLSClientConfig: c.clientTLS("admin", "system:masters"),
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Client = client
	c.waitReady()
	c.grantRights()
	c.Pods = trackPods(c)
	startKubelet(c, kubelet)
	return c
}

// The folder of a test's logs. A good run leaves nothing behind.
func runFolder(t testing.TB) string {
	t.Helper()
	name := strings.Map(func(r rune) rune {
		if r == '/' {
			return '-'
		}
		return r
	}, t.Name())
	folder, err := os.MkdirTemp("", "offcut-e2e-"+name+"-")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("logs: %s (kept if the test fails)", folder) // now: a timeout lets nobody say it later
	t.Cleanup(func() {
		if !t.Failed() {
			os.RemoveAll(folder)
		}
	})
	return folder
}

// Binary returns the path of a built server, `etcd`, `kueue` or one of Kubernetes.
func (c *Cluster) Binary(name string) string {
	c.t.Helper()
	cache := os.Getenv("OFFCUT_E2E_CACHE")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			c.t.Fatal(err)
		}
		cache = filepath.Join(user, "offcut-e2e")
	}
	pattern := filepath.Join(cache, "kubernetes-"+c.Version, name)
	if name == "etcd" || name == "kueue" {
		pattern = filepath.Join(cache, name+"-v*", name)
	}
	found, _ := filepath.Glob(pattern)
	if len(found) == 0 {
		c.t.Fatalf("no %s: run test/e2e/build-binaries %s", pattern, c.Version)
	}
	return slices.Max(found)
}

// APIAddress returns the API server's IP:PORT; it stays the same over a restart.
func (c *Cluster) APIAddress() string { return fmt.Sprintf("127.0.0.1:%d", c.apiPort) }

func (c *Cluster) startEtcd() {
	c.etcdPort = FreePort(c.t)
	client := fmt.Sprintf("http://127.0.0.1:%d", c.etcdPort)
	peer := fmt.Sprintf("http://127.0.0.1:%d", FreePort(c.t))
	Start(c.t, c.Folder, "etcd", c.Binary("etcd"),
		"--data-dir="+filepath.Join(c.Folder, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer,
		"--initial-cluster=default="+peer)
}

func (c *Cluster) prepareAPIServer() {
	c.apiPort = FreePort(c.t)
	private, public := writeServiceAccountKeys(c.t, c.Folder)
	certificate, key := c.authority.issue(c.t, "kube-apiserver")
	c.apiFlags = []string{
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", c.etcdPort),
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", c.apiPort),
		"--tls-cert-file=" + writeFile(c.t, c.Folder, "apiserver.crt", certificate),
		"--tls-private-key-file=" + writeFile(c.t, c.Folder, "apiserver.key", key),
		"--client-ca-file=" + writeFile(c.t, c.Folder, "ca.crt", c.authority.pem),
		"--service-cluster-ip-range=10.0.0.0/24",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + public, "--service-account-signing-key-file=" + private,
		"--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount",
		"--endpoint-reconciler-type=none",
		"--audit-policy-file=" + writeFile(c.t, c.Folder, "audit-policy.json", []byte(auditPolicy)),
		"--audit-log-path=" + c.auditLog(),
		"--audit-log-maxsize=4000", // MB; a full file is put aside, and Audit reads one
	}
}

// StartAPIServer starts it, or starts it again after StopAPIServer, without waiting for it.
func (c *Cluster) StartAPIServer(flags ...string) {
	c.t.Helper()
	c.apiServer = Start(c.t, c.Folder, "kube-apiserver", c.Binary("kube-apiserver"),
		slices.Concat(c.apiFlags, flags)...)
	c.t.Cleanup(c.apiServer.Kill) // asked politely, it would wait for its clients' watches to end
}

// StopAPIServer kills the API server: every connection to it breaks.
func (c *Cluster) StopAPIServer() { c.apiServer.Kill() }

// RestartAPIServer starts it again and waits until it is ready.
func (c *Cluster) RestartAPIServer(flags ...string) {
	c.t.Helper()
	c.StartAPIServer(flags...)
	c.waitReady()
}

func (c *Cluster) waitReady() {
	c.t.Helper()
	Eventually(c.t, readyTimeout, "API server ready", func() error {
		_, err := c.Client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(c.t.Context())
		return err
	})
}

func (c *Cluster) clientTLS(name string, groups ...string) rest.TLSClientConfig {
	certificate, key := c.authority.issue(c.t, name, groups...)
	return rest.TLSClientConfig{CAData: c.authority.pem, CertData: certificate, KeyData: key}
}

// Writes the kubeconfig of a client with a certificate of that name and groups.
func (c *Cluster) clientKubeconfig(name, server string, groups ...string) string {
	c.t.Helper()
	certificate, key := c.authority.issue(c.t, name, groups...)
	return c.writeKubeconfig(name, server, map[string]any{
		"client-certificate-data": certificate, "client-key-data": key,
	})
}

// ServiceAccountKubeconfig writes the kubeconfig of a service account in Namespace, with a token
// that the API server gave out, so that its Role's verbs are all that it can do.
func (c *Cluster) ServiceAccountKubeconfig(account, server string) string {
	c.t.Helper()
	seconds := int64(4 * 3600)
	token, err := c.Client.CoreV1().ServiceAccounts(Namespace).CreateToken(c.t.Context(), account,
		&authenticationv1.TokenRequest{
			Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds},
		}, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatalf("token of %s: %v", account, err)
	}
	return c.writeKubeconfig(account, server, map[string]any{"token": token.Status.Token})
}

func (c *Cluster) writeKubeconfig(name, server string, user map[string]any) string {
	c.t.Helper()
	text, err := json.MarshalIndent(map[string]any{ // []byte becomes base64, as the format wants
		"apiVersion": "v1", "kind": "Config", "current-context": "e2e",
		"clusters": []any{map[string]any{"name": "e2e", "cluster": map[string]any{
			"server": "https://" + server, "certificate-authority-data": c.authority.pem,
		}}},
		"users": []any{map[string]any{"name": name, "user": user}},
		"contexts": []any{map[string]any{"name": "e2e", "context": map[string]any{
			"cluster": "e2e", "user": name, "namespace": Namespace,
		}}},
	}, "", "  ")
	if err != nil {
		c.t.Fatal(err)
	}
	port := server[strings.LastIndex(server, ":")+1:]
	return writeFile(c.t, c.Folder, name+"-"+port+".kubeconfig", text)
}

// Kubectl runs kubectl as the administrator and returns what it printed.
func (c *Cluster) Kubectl(arguments ...string) string {
	c.t.Helper()
	output, err := c.tryKubectl(arguments...)
	if err != nil {
		c.t.Fatal(err)
	}
	return output
}

func (c *Cluster) tryKubectl(arguments ...string) (string, error) {
	// What another server on this port could do, an earlier run has left in the cache of the user.
	command := append([]string{
		"--kubeconfig=" + c.kubeconfig, "--cache-dir=" + filepath.Join(c.Folder, "kubectl-cache"),
	}, arguments...)
	output, err := exec.CommandContext(c.t.Context(), c.Binary("kubectl"), command...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("kubectl %v: %w\n%s", arguments, err, output)
	}
	return string(output), nil
}

// Apply applies a file of manifests.
func (c *Cluster) Apply(path string) { c.t.Helper(); c.Kubectl("apply", "-f", path) }

// Makes Offcut's account with the rights that are shipped, and no others.
func (c *Cluster) grantRights() {
	c.t.Helper()
	c.Kubectl("apply", "--server-side", "-k", "../../deploy/kustomize/base")
	c.WaitAllowed("list", "", "nodes", "")
	c.WaitAllowed("get", "coordination.k8s.io", "leases", Namespace)
}

// CompactEtcd forgets all history: who asks for an older resource version gets 410.
func (c *Cluster) CompactEtcd() {
	c.t.Helper()
	var status struct {
		Header struct {
			Revision string `json:"revision"`
		} `json:"header"`
	}
	c.callEtcd("/v3/maintenance/status", map[string]any{}, &status)
	c.callEtcd("/v3/kv/compaction",
		map[string]any{"revision": status.Header.Revision, "physical": true}, nil)
}

// etcd speaks JSON on its client port too (its gRPC gateway).
func (c *Cluster) callEtcd(path string, request, reply any) {
	c.t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		c.t.Fatal(err)
	}
	url := fmt.Sprintf("http://127.0.0.1:%d%s", c.etcdPort, path)
	response, err := http.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		c.t.Fatalf("etcd %s: %d %s %v", path, response.StatusCode, text, err)
	}
	if reply == nil {
		return
	}
	if err := json.Unmarshal(text, reply); err != nil {
		c.t.Fatalf("etcd %s: %v", path, err)
	}
}

// Returns the body of a 200, or an error.
func get(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %s", url, response.Status, bytes.TrimSpace(body))
	}
	return body, err
}

// Eventually asks again until there is no error. It is for servers that offer no watch; what the
// API server knows is waited for with PodTracker.Wait.
func Eventually(t testing.TB, timeout time.Duration, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(timeout)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) || t.Context().Err() != nil {
			t.Fatalf("not within %v: %s: %v", timeout, what, err)
		}
		<-tick.C
	}
}
