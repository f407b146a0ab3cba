# The server as an image; src/cli/README.md says how to run it.
FROM node:24-trixie-slim AS build
WORKDIR /ayni
COPY package.json package-lock.json ./
RUN npm ci
COPY . .
RUN npm run build && npm prune --omit=dev

FROM node:24-trixie-slim
WORKDIR /ayni
COPY --from=build /ayni/package.json ./
COPY --from=build /ayni/node_modules node_modules
COPY --from=build /ayni/dist/src dist/src
# A new volume takes these rights over. What is published comes in by the container's own address, not by the loopback: so it
# listens on every one, and other containers of its network reach it, published or not.
RUN mkdir /data && chown node:node /data && chmod 700 /data
ENV AYNI_DATA=/data AYNI_HOST=0.0.0.0
USER node
VOLUME /data
EXPOSE 4000
# Books of tens of millions of records take some minutes to be read.
HEALTHCHECK --start-period=10m --interval=10s --timeout=5s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.AYNI_PORT || 4000) + '/readyz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# As process 1 it hears SIGTERM once it listens, before that with `--init` only. It has no children that an init would wait for.
ENTRYPOINT ["node", "--max-semi-space-size=64", "--min-semi-space-size=16", "dist/src/bin/main.js"]
