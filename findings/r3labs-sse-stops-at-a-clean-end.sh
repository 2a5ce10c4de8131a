#!/usr/bin/env bash
# r3labs/sse, a client of server-sent events for Go, returns without an error when a response ends, as it does when a server
# or proxy restarts in order; the HTML standard says to connect again. Only after a broken connection does it connect again:
# soon, whatever `retry:` said, also after a 401, and even after its context has ended. Needs go.
set -euo pipefail
export PATH="$PATH:/usr/local/go/bin" GOFLAGS=-mod=mod
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
cat > main.go <<'G'
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/r3labs/sse/v2"
)

// follow counts requests, and says how the client is a second after its context has ended.
func follow(end func(http.ResponseWriter)) (int32, string) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) > 1 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "retry: 60000\nid: 1\ndata: a\n\n")
		w.(http.Flusher).Flush()
		end(w)
	}))
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	returned := make(chan error, 1)
	go func() { returned <- sse.NewClient(server.URL).SubscribeRawWithContext(ctx, func(*sse.Event) {}) }()
	select {
	case err := <-returned:
		return requests.Load(), fmt.Sprint("returned ", err)
	case <-time.After(4 * time.Second):
		return requests.Load(), "goes on"
	}
}

func main() {
	requests, state := follow(func(http.ResponseWriter) {})
	fmt.Println("end:", requests, "request,", state)
	requests, state = follow(func(w http.ResponseWriter) {
		connection, _, _ := w.(http.Hijacker).Hijack()
		connection.Close()
	})
	fmt.Println("break:", requests > 2, "that it asked again after a 401,", state)
}
G
go mod init finding 2>/dev/null
go get github.com/r3labs/sse/v2@v2.10.0 2>/dev/null
seen=$(go run .)
printf 'r3labs/sse 2.10.0:\n%s\n' "$seen"
[ "$seen" = 'end: 1 request, returned <nil>
break: true that it asked again after a 401, goes on' ]
