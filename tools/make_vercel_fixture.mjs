// Writes chats of Vercel's AI SDK, on which its reader is tested: `npm install ai@5 zod`, then `node make_vercel_fixture.mjs FOLDER`.
import { MockLanguageModelV2, simulateReadableStream } from 'ai/test';
import { streamText, readUIMessageStream, tool, stepCountIs, convertToModelMessages } from 'ai';
import { z } from 'zod';
import fs from 'fs';
const folder = process.argv[2];
let calls = 0;
const usage = { inputTokens: 5, outputTokens: 5, totalTokens: 10 };
const model = new MockLanguageModelV2({
  doStream: async () => {
    calls += 1;
    const first = [
      { type: 'stream-start', warnings: [] },
      { type: 'reasoning-start', id: 'r1' }, { type: 'reasoning-delta', id: 'r1', delta: 'They want a table.' }, { type: 'reasoning-end', id: 'r1' },
      { type: 'tool-call', toolCallId: 'call_1', toolName: 'findTable', input: '{"people":2,"time":"19:00"}' },
      { type: 'tool-call', toolCallId: 'call_2', toolName: 'checkWeather', input: '{"day":"today"}' },
      { type: 'finish', finishReason: 'tool-calls', usage },
    ];
    const second = [
      { type: 'stream-start', warnings: [] },
      { type: 'text-start', id: 't1' }, { type: 'text-delta', id: 't1', delta: 'Table 7 is free at seven.' }, { type: 'text-end', id: 't1' },
      { type: 'finish', finishReason: 'stop', usage },
    ];
    return { stream: simulateReadableStream({ chunks: calls === 1 ? first : second, initialDelayInMs: null, chunkDelayInMs: null }) };
  },
});
const asked = { id: 'm-1', role: 'user', parts: [{ type: 'text', text: 'A table for two tonight, please.' }] };
const tools = {
  findTable: tool({ inputSchema: z.object({ people: z.number(), time: z.string() }), execute: async () => ({ table: 7 }) }),
  checkWeather: tool({ inputSchema: z.object({ day: z.string() }), execute: async () => { throw new Error('no forecast'); } }),
};
const result = streamText({ model, messages: convertToModelMessages([asked]), tools, stopWhen: stepCountIs(3) });
let last;
for await (const message of readUIMessageStream({ stream: result.toUIMessageStream({ generateMessageId: () => 'm-2', originalMessages: [asked], onError: e => String(e.message ?? e) }) })) last = message;
const chat = [asked, last];
fs.writeFileSync(`${folder}/vercel_ui_messages.json`, JSON.stringify(chat, null, 1) + '\n');
const models = convertToModelMessages(chat);
fs.writeFileSync(`${folder}/vercel_model_messages.json`, JSON.stringify({ messages: models }, null, 1) + '\n');
