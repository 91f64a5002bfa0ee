"""The names of agent-framework that differ between the pinned versions, under one name each.

Up to 1.0.0b260116 the core has ChatAgent, ai_function and one class per kind of content, and a chat client streams from
a method of its own; from 1.0.0b260123 on it has Agent, tool and Content, and layers that a client is put together from.
"""

import inspect
import uuid

import agent_framework as af
from agent_framework import BaseChatClient, ChatResponse, ChatResponseUpdate

MODERN = hasattr(af, "FunctionInvocationLayer")



def accepts(function, name):
    return name in inspect.signature(function).parameters


if MODERN:
    from agent_framework import Agent, ChatMiddlewareLayer, Content, FunctionInvocationLayer, FunctionTool, ResponseStream, tool

    def text_of(text):
        return Content.from_text(text=text)

    def call_of(id, name, arguments):
        return Content.from_function_call(call_id=id, name=name, arguments=arguments)

    # the layers changed places: whichever takes the middleware apart has to come first
    if accepts(FunctionInvocationLayer.__init__, "middleware"):
        LAYERS = FunctionInvocationLayer, ChatMiddlewareLayer
    else:
        LAYERS = ChatMiddlewareLayer, FunctionInvocationLayer

    class StreamingClient(*LAYERS, BaseChatClient):
        """A chat client that only has to say which updates it streams."""

        def updates(self, messages):
            raise NotImplementedError

        def _inner_get_response(self, *, messages, stream=False, options=None, **kwargs):
            if stream:
                return ResponseStream(self.updates(messages), finalizer=ChatResponse.from_updates)
            return self._whole(messages)

        async def _whole(self, messages):
            return ChatResponse.from_updates([update async for update in self.updates(messages)])

    def make_agent(client, tools, **more):
        return Agent(client=client, name="scripted", tools=tools, **more)

    def declare(name, description, schema):
        """A tool that the model may call and nobody on the server runs."""
        return FunctionTool(name=name, description=description, func=None, input_model=schema)

else:
    from agent_framework import AIFunction, ChatAgent, FunctionCallContent, TextContent, ai_function, use_function_invocation

    tool = ai_function

    def text_of(text):
        return TextContent(text=text)

    def call_of(id, name, arguments):
        return FunctionCallContent(call_id=id, name=name, arguments=arguments)

    @use_function_invocation
    class StreamingClient(BaseChatClient):
        """A chat client that only has to say which updates it streams."""

        def updates(self, messages):
            raise NotImplementedError

        # the options of a request are an argument of its own, whose name changed between two betas
        async def _inner_get_streaming_response(self, *, messages, **kwargs):
            async for update in self.updates(messages):
                yield update

        async def _inner_get_response(self, *, messages, **kwargs):
            return ChatResponse.from_chat_response_updates([update async for update in self.updates(messages)])

    def make_agent(client, tools, **more):
        return ChatAgent(chat_client=client, name="scripted", tools=tools, **more)

    def declare(name, description, schema):
        """A tool that the model may call and nobody on the server runs."""
        return AIFunction(name=name, description=description, func=None, input_model=schema)


def update(contents, message, response=None, conversation=None):
    return ChatResponseUpdate(contents=contents, role="assistant", message_id=message, response_id=response,
                              conversation_id=conversation)


def role_of(message):
    return str(getattr(message.role, "value", message.role))


def kind_of(content):
    return str(content.type)


def fresh(prefix):
    return f"{prefix}_{uuid.uuid4().hex[:12]}"
