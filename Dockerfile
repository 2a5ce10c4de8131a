FROM node:26-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY tsconfig.json bundle.ts guides.ts ts.mjs vite.config.ts ./
COPY docs docs
COPY src src
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM node:26-slim
ENV NODE_ENV=production HOST=0.0.0.0 DRAIN_DELAY=5
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
# The only writable path, so that the root file system can be read-only.
RUN mkdir data && chown node:node data && ln -s /app/dist/petstore.js /usr/local/bin/petstore
VOLUME /app/data
USER node
EXPOSE 4000
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 4000}/health/ready`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Node runs as process 1, so that it receives SIGTERM.
CMD ["node", "dist/main.js"]
