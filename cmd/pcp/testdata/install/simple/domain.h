/* the agent's domain */
#define SIMPLE 253
