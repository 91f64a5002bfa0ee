# A static binary on a base without a shell, as a user without rights. Its environment configures it
# (docs/configuration.md):
#
#   docker run --read-only -p 7080:7080 -e HOLDPOINT_UPSTREAM=http://host.docker.internal:8000/agent holdpoint:<version>
#
# Both architectures come of one machine, without emulation: docker buildx build --platform linux/amd64,linux/arm64 .
#
# The binary is the same bytes whoever builds it. For the same image, byte for byte, pin both bases by digest
# (--build-arg BASE=<image>@sha256:<digest>, and GOLANG likewise) and have the builder write the commit's time into
# the layers: SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) docker buildx build --output type=oci,rewrite-timestamp=true .
ARG GOLANG=docker.io/library/golang:1.26.8-bookworm
ARG BASE=gcr.io/distroless/static-debian12:nonroot

FROM --platform=$BUILDPLATFORM ${GOLANG} AS build
ARG TARGETOS TARGETARCH
ENV GOTOOLCHAIN=local
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
# With .git: Go stamps the commit. What git tracks must all come, or the stamp says "modified"; .dockerignore leaves out
# only what .gitignore does.
COPY . .
# Such as v0.1.0. Without it the binary tells what Go makes of the tags.
ARG VERSION
# Without the tag the binary is 16 MB larger (docs/dependencies.md).
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -tags=grpcnotrace -trimpath -buildvcs=auto -ldflags="-s -w -X main.version=$VERSION" -o /out/holdpoint ./cmd/holdpoint
# Where a volume for a file of the store or the audit is mounted. A volume of Docker takes over who owns the folder.
RUN mkdir -p /out/var/lib/holdpoint

FROM ${BASE}
ARG VERSION
LABEL org.opencontainers.image.title=holdpoint \
      org.opencontainers.image.version=$VERSION \
      org.opencontainers.image.licenses=Apache-2.0
COPY --from=build /out/holdpoint /holdpoint
COPY --from=build --chown=65532:65532 /out/var/lib/holdpoint /var/lib/holdpoint
COPY LICENSE /LICENSE
# The base's user, by number, so that Kubernetes' runAsNonRoot can see that it is not root.
USER 65532:65532
EXPOSE 7080 7081
# Read by Docker. Kubernetes has probes of its own. Docker kills 10 seconds after TERM unless told otherwise: give it as
# long as HOLDPOINT_DRAIN_DELAY and HOLDPOINT_DRAIN_TIMEOUT take, and 5 seconds (docker stop -t 30, stop_grace_period).
HEALTHCHECK --interval=5s CMD ["/holdpoint", "healthcheck", "ready"]
ENTRYPOINT ["/holdpoint"]
