package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Where our server shows its figures and profiles.
const (
	metricsAddress = "127.0.0.1:16061"
	debugAddress   = "127.0.0.1:16060"
)

// allowLoopback lets the webhooks reach the receivers of this program.
const allowLoopback = "CONTACTBASE_WEBHOOK_ALLOW=127.0.0.0/8"

// target is a server under load.
type target struct {
	name    string
	base    string
	dir     string
	header  http.Header
	command *exec.Cmd
	ready   time.Duration // from the start of the process to its first answer
}

// build compiles a package of this module into dir.
func build(dir, name, pkg string) (string, error) {
	path := filepath.Join(dir, name)
	command := exec.Command("go", "build", "-trimpath", "-o", path, pkg)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	command.Stderr = os.Stderr
	return path, command.Run()
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// start runs the binary on the folder and waits until it answers.
func (t *target) start(binary string, arguments ...string) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	t.base = fmt.Sprintf("http://127.0.0.1:%d", port)
	arguments = append([]string{"serve", "--dir", t.dir, "--http", fmt.Sprintf("127.0.0.1:%d", port)}, arguments...)
	t.command = exec.Command(binary, arguments...)
	t.command.Env = append(os.Environ(), allowLoopback)
	t.command.Stderr = os.Stderr
	began := time.Now()
	if err := t.command.Start(); err != nil {
		return err
	}
	for time.Since(began) < 30*time.Second {
		response, err := http.Get(t.base + "/api/health")
		if err == nil {
			response.Body.Close()
			t.ready = time.Since(began)
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("%s does not answer", t.name)
}

// stop ends the server, where one runs.
func (t *target) stop() {
	if t == nil || t.command == nil || t.command.Process == nil {
		return
	}
	_ = t.command.Process.Signal(syscall.SIGTERM)
	_ = t.command.Wait()
}

// memory returns the resident size now and at its peak, in MiB.
func (t *target) memory() (now, peak int) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", t.command.Process.Pid))
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		size, _ := strconv.Atoi(fields[1])
		switch fields[0] {
		case "VmRSS:":
			now = size / 1024
		case "VmHWM:":
			peak = size / 1024
		}
	}
	return now, peak
}

// settle waits until the server has nothing to do any more: the index of trigrams follows the writes.
func (t *target) settle() error {
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); {
		before := t.cpu()
		time.Sleep(time.Second)
		if t.cpu()-before <= 20*time.Millisecond {
			return nil
		}
	}
	return fmt.Errorf("%s does not come to rest", t.name)
}

// metric reads one of our server's figures.
func (t *target) metric(name string) (float64, error) {
	response, err := http.Get("http://" + metricsAddress + "/metrics")
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, fmt.Errorf("there is no metric %s", name)
}

// cpu returns the processor time that the server has used.
func (t *target) cpu() time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", t.command.Process.Pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat)[strings.LastIndex(string(stat), ")")+1:])
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// command runs one of our commands and returns the JSON that it prints.
func runJSON(binary, dir string, arguments ...string) (map[string]any, error) {
	command := exec.Command(binary, append(arguments, "--dir", dir, "--json")...)
	command.Env = append(os.Environ(), allowLoopback)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(arguments, " "), err)
	}
	var object map[string]any
	return object, json.Unmarshal(out, &object)
}
