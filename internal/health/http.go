package health

import (
	"net/http"

	"contactbase/internal/wire"
)

// ServeLive answers 200: the process is alive.
func ServeLive(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, map[string]string{"status": "alive"})
}

// ServeReady answers 200 if the program can do its work, and otherwise 503 with the reasons.
func (m *Monitor) ServeReady(w http.ResponseWriter, _ *http.Request) {
	answer := struct {
		Status  string   `json:"status"`
		Reasons []Reason `json:"reasons"`
	}{"ready", m.Reasons()}
	status := http.StatusOK
	if len(answer.Reasons) > 0 {
		answer.Status, status = "not ready", http.StatusServiceUnavailable
	}
	write(w, status, answer)
}

func write(w http.ResponseWriter, status int, answer any) {
	encoded, err := wire.AppendJSON(nil, answer)
	if err != nil {
		panic("health: " + err.Error()) // unreachable: all strings
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(encoded, '\n')) // a client that has gone needs no response
}
