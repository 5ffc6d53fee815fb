# docker build .                      builds from source, as the README does on a bare Debian
# docker build --target prebuilt .    packs an out/sandstorm-mcp that is already there
# The image holds one file and no shell, no libc, no /etc. The first and the last stage describe the same image.

FROM scratch AS prebuilt
COPY out/sandstorm-mcp /sandstorm-mcp
USER 65534:65534
ENTRYPOINT ["/sandstorm-mcp"]

FROM debian:12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends git make gcc xz-utils
WORKDIR /build
COPY Makefile ./
COPY scripts scripts/
COPY vendor vendor/
COPY src src/
RUN make

FROM scratch
COPY --from=build /build/out/sandstorm-mcp /sandstorm-mcp
USER 65534:65534
ENTRYPOINT ["/sandstorm-mcp"]
