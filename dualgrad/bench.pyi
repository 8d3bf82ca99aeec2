from bench import *
