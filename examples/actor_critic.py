"""Teaches a pole to stand on a cart: an actor that chooses pushes, a critic that judges states.

The environment is built in: a cart on a rail, pushed left or right, with a pole hinged on it. Many
carts run at once as rows of a tensor. The picture shows, from top to bottom, a cart and its pole
over time after the training.
"""

import math

from example import Speed, parse_options, prepare_folder, run, steps
from pictures import save_image

import taeda as torch

nn, F = torch.nn, torch.nn.functional


class Carts:
    """Carts of 1 kg with poles of 1 m and 0.1 kg, seen 50 times a second.

    A state is place, speed, angle and its speed. An episode ends 2.4 m from the middle, at 12
    degrees, or after 200 steps.
    """

    LIMIT, ANGLE, LONGEST = 2.4, 12 * math.pi / 180, 200

    def __init__(self, count):
        self.state = self.started(count)
        self.age = torch.zeros(count)
        self.lengths = []

    @staticmethod
    def started(count):
        return torch.rand(count, 4) * 0.1 - 0.05

    def step(self, action):
        """(state, whether an episode ended by a fall, by its length); ended ones start again."""
        place, speed, angle, turn = self.state.unbind(1)
        force = 20.0 * action - 10.0
        sin, cos = angle.sin(), angle.cos()
        push = (force + 0.05 * turn**2 * sin) / 1.1
        turning = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
        moving = push - 0.05 * turning * cos / 1.1
        moved = (place + 0.02 * speed, speed + 0.02 * moving)
        turned = (angle + 0.02 * turn, turn + 0.02 * turning)
        self.state = torch.stack([*moved, *turned], 1)
        self.age += 1
        fell = (self.state[:, 0].abs() > self.LIMIT) | (self.state[:, 2].abs() > self.ANGLE)
        is_old = (self.age >= self.LONGEST) & ~fell
        ended = fell | is_old
        self.lengths += self.age[ended].tolist()
        fresh = self.started(len(self.state))
        before = self.state
        self.state = torch.where(ended[:, None], fresh, self.state)
        self.age = torch.where(ended, torch.zeros_like(self.age), self.age)
        return before, fell, is_old


class ActorCritic(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 2))
        self.critic = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, state):
        return self.actor(state), self.critic(state).squeeze(-1)


def play(model, carts, length):
    """States, actions and returns of `length` steps; what comes behind them the critic guesses."""
    states, actions, rewards, goes_on, guesses = [], [], [], [], []
    with torch.no_grad():
        for _ in range(length):
            state = carts.state
            logits, _ = model(state)
            action = torch.distributions.Categorical(logits=logits).sample()
            after, fell, is_old = carts.step(action.float())
            states.append(state)
            actions.append(action)
            rewards.append(1 - fell.float())
            goes_on.append((~(fell | is_old)).float())
            guesses.append(torch.where(is_old, model(after)[1], torch.zeros(len(state))))
        value = model(carts.state)[1]
    returns = []
    for t in reversed(range(length)):
        value = rewards[t] + 0.98 * (goes_on[t] * value + guesses[t])
        returns.append(value)
    return torch.cat(states), torch.cat(actions), torch.cat(returns[::-1])


def loss_of(model, states, actions, returns):
    logits, values = model(states)
    choice = torch.distributions.Categorical(logits=logits, validate_args=False)
    advantage = returns - values.detach()
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
    acting = -(choice.log_prob(actions) * advantage).mean()
    return acting + 0.5 * F.smooth_l1_loss(values, returns) - 0.01 * choice.entropy().mean()


def drawn(state):
    """A cart on its rail with its pole, 24 x 64 pixels."""
    picture = torch.zeros(1, 24, 64)
    middle = 32 + state[0] / Carts.LIMIT * 28
    picture[:, 21] = 0.3
    picture[:, 19:22, max(0, round(middle - 3)) : round(middle + 4)] = 0.8
    for i in range(60):
        along = 16 * i / 60
        column = round(middle + along * math.sin(state[2]))
        row = round(19 - along * math.cos(state[2]))
        picture[:, max(0, row), min(63, max(0, column))] = 1.0
    return picture


def main():
    options = parse_options(__doc__, 250, 4, carts=(32, 4), width=(64, 16))
    prepare_folder(options.out)
    torch.manual_seed(options.seed)
    model, carts = ActorCritic(options.width), Carts(options.carts)
    loss = torch.compile(loss_of) if options.compile else loss_of
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    speed = Speed()

    def note():
        recent = carts.lengths[-100:] or [0]
        return f"episodes last {sum(recent) / len(recent):.0f} steps"

    for _ in steps(options, "training", note):
        with speed:
            played = play(model, carts, 32)
            optimizer.zero_grad()
            loss(model, *played).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
    print(f"{note()} of at most {Carts.LONGEST}; {speed}")
    one, frames = Carts(1), []
    for step in range(160):
        if step % 10 == 0:
            frames.append(drawn(one.state[0].tolist()))
        with torch.no_grad():
            one.step(model(one.state)[0].argmax(1).float())
    save_image(torch.stack(frames), options.out / "actor_critic.png", columns=2, scale=3)


if __name__ == "__main__":
    run(main)
