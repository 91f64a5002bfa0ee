# An agent of examples/. Its folder is the context of the build.
ARG PYTHON=docker.io/library/python:3.13-slim

FROM ${PYTHON}
WORKDIR /agent
COPY requirements.txt ./
RUN pip install --no-cache-dir --no-deps -r requirements.txt
COPY agent.py ./
# The user writes nothing beside the code, and what the agent prints is in its log at once.
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
EXPOSE 8000
# As a script agent.py listens on 127.0.0.1 only, which nobody outside the container reaches.
CMD ["python", "-m", "uvicorn", "agent:app", "--host", "0.0.0.0", "--port", "8000"]
