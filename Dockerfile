# Hikyaku in a container: docker build -t hikyaku . (compose.yaml runs it).
FROM debian:12 AS build
COPY . /src
RUN cd /src && ./dev build

FROM debian:12-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates \
	libargon2-1 libc-ares2 libcurl4 libgnutls30 libjq1 libmicrohttpd12 libpq5 \
	libsqlite3-0 libssl3 zlib1g \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin hikyaku \
 && install -d -o hikyaku -m 700 /data
COPY --from=build /src/build/release/hikyaku /usr/local/bin/hikyaku
USER hikyaku
VOLUME /data
EXPOSE 8080
# Nothing but /data is written to: run it with a read-only root. SIGTERM, which
# is what a container is stopped with, ends it well.
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s CMD ["hikyaku", "health", "--data", "/data"]
ENTRYPOINT ["hikyaku"]
CMD ["serve", "--listen", "0.0.0.0:8080", "--data", "/data"]
