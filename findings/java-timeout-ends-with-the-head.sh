#!/usr/bin/env bash
# `timeout` of Java's HttpRequest ends with the head of the answer: a body that never ends, such as a stream of events, is waited
# for long after it (`BodyHandlers.ofString()`). A deadline for all of it is `sendAsync(…).orTimeout(…)`. Needs java, tried with 17.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
cat >Try.java <<'JAVA'
import com.sun.net.httpserver.HttpServer;
import java.net.*;
import java.net.http.*;
import java.time.Duration;
import java.util.concurrent.*;

public class Try {
  public static void main(String[] arguments) throws Exception {
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
    server.setExecutor(Executors.newCachedThreadPool());
    server.createContext("/", exchange -> {
      boolean silent = exchange.getRequestURI().getPath().equals("/silent");
      try {
        if (silent) Thread.sleep(60_000);
        exchange.getResponseHeaders().add("Content-Type", "text/event-stream");
        exchange.sendResponseHeaders(200, 0);
        for (;;) {
          exchange.getResponseBody().write(": still here\n\n".getBytes());
          exchange.getResponseBody().flush();
          Thread.sleep(500);
        }
      } catch (InterruptedException end) {
      }
    });
    server.start();
    HttpClient client = HttpClient.newHttpClient();
    for (String path : new String[] { "/silent", "/stream", "/orTimeout" }) {
      HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + server.getAddress().getPort() + path))
        .timeout(Duration.ofSeconds(1)).build();
      try {
        CompletableFuture<?> answer = client.sendAsync(request, HttpResponse.BodyHandlers.ofString());
        if (path.equals("/orTimeout")) answer = answer.orTimeout(2, TimeUnit.SECONDS);
        answer.get(6, TimeUnit.SECONDS);
        System.out.println(path + ": ended");
      } catch (ExecutionException refused) {
        System.out.println(path + ": " + refused.getCause().getClass().getSimpleName());
      } catch (TimeoutException still) {
        System.out.println(path + ": still reading after 6 s");
      }
    }
    System.exit(0);
  }
}
JAVA
seen=$(java Try.java | paste -sd ';')
echo "Java $(java -version 2>&1 | sed -n '1s/.*"\(.*\)".*/\1/p'), timeout of 1 s: $seen"
[ "$seen" = '/silent: HttpTimeoutException;/stream: still reading after 6 s;/orTimeout: TimeoutException' ]
