# turnwise with the metrics of small models and the rating app; no torch (docs/ci.md).
FROM python:3.12-slim

WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir -c constraints.txt '.[models,web]' && useradd --create-home turnwise

USER turnwise
WORKDIR /data
ENTRYPOINT ["turnwise"]
CMD ["--help"]
