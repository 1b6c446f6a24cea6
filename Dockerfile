# Build stage and final stage share one Debian release: the program links the C
# and C++ libraries of the first and runs with those of the second.

FROM golang:1.26-bookworm AS build
WORKDIR /src
# Modules change seldom: a layer of their own.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN GOFLAGS=-trimpath make build VERSION="$VERSION" \
    && install -D bin/lakewarden /out/lakewarden \
    && bin/lakewarden extensions install --extension-dir /out/extensions

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates libstdc++6 tzdata \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10001 lakewarden \
    && useradd --uid 10001 --gid 10001 --home-dir /var/lib/lakewarden --no-create-home --shell /usr/sbin/nologin lakewarden \
    && install -d -m 0700 -o 10001 -g 10001 /var/lib/lakewarden
# Owned by root and read-only for the server: it verifies these files once at
# its start and trusts them afterwards.
COPY --from=build /out/extensions /usr/lib/lakewarden/extensions
COPY --from=build /out/lakewarden /usr/local/bin/lakewarden

# The server listens on loopback unless told otherwise; a container must not.
ENV LAKEWARDEN_LISTEN=0.0.0.0:8080 \
    LAKEWARDEN_DATA_DIR=/var/lib/lakewarden
USER 10001:10001
VOLUME /var/lib/lakewarden
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["/usr/local/bin/lakewarden", "healthcheck"]
ENTRYPOINT ["/usr/local/bin/lakewarden"]
CMD ["serve"]
